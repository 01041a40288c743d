import { Agent, request } from 'node:http'

export interface Response {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string
  /** Milliseconds. */
  took: number
}

export interface RequestOptions {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** How long an answer is awaited, in milliseconds. */
  timeout?: number
}

/** An HTTP client for one server, with kept connections. */
export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** @throws Error without a whole answer in time */
  ask(path: string, { method = 'GET', headers = {}, body, timeout = 5_000 }: RequestOptions = {}): Promise<Response> {
    const began = performance.now()
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#url}${path}`, { method, headers, agent: this.#agent }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('error', reject)
        response.once('close', () => {
          clearTimeout(timer)
          if (!response.complete) return reject(new Error('the answer was cut short'))
          const { statusCode = 0, headers: fields } = response
          resolve({ status: statusCode, headers: fields, body: text, took: performance.now() - began })
        })
      })
      const timer = setTimeout(() => sent.destroy(new Error(`no answer within ${timeout / 1000} s`)), timeout)
      sent.once('error', (error) => {
        clearTimeout(timer)
        reject(error)
      })
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
