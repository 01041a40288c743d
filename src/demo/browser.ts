import { Agent, request } from 'node:http'

/** A response as the visitor received it. */
export interface PageVisit {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
  /** Milliseconds from the request to the last byte. */
  took: number
}

/** A visitor of the demo: keeps its connection and its cookies. */
export class Browser {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #cookies = new Map<string, string>()

  get(url: string): Promise<PageVisit> {
    return this.#send(url, null)
  }

  post(url: string, form: Readonly<Record<string, string>>): Promise<PageVisit> {
    return this.#send(url, { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString() })
  }

  postJson(url: string, value: object): Promise<PageVisit> {
    return this.#send(url, { type: 'application/json', text: JSON.stringify(value) })
  }

  /** The median time of several requests for a page, in milliseconds. */
  async median(url: string, times: number): Promise<number> {
    const took: number[] = []
    for (let round = 0; round < times; round += 1) took.push((await this.get(url)).took)
    return took.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(url: string, body: { type: string; text: string } | null): Promise<PageVisit> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = {
      ...(cookie === '' ? {} : { cookie }),
      ...(body === null ? {} : { 'content-type': body.type }),
    }
    return new Promise((resolve, reject) => {
      const startedAt = performance.now()
      const sent = request(
        url,
        { agent: this.#agent, method: body === null ? 'GET' : 'POST', headers, timeout: 10_000 },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
          response.on('error', reject).on('end', () => {
            for (const line of response.headers['set-cookie'] ?? []) this.#keep(line)
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              took: performance.now() - startedAt,
            })
          })
        },
      )
      sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`${url} did not respond within 10 s`)))
      sent.end(body?.text)
    })
  }

  #keep(line: string): void {
    const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=', 2)
    this.#cookies.set(name, value)
  }
}
