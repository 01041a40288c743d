import { request as requestHttp, type IncomingHttpHeaders } from 'node:http'
import { request as requestHttps } from 'node:https'

/** How long a check waits for somebody else; longer means that visitors would wait too. */
export const patience = 3000

/** More of a page than any check looks at. */
const bodyLimit = 64 * 1024

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  /** The beginning of the body. */
  text: string
}

/** One request, a GET without `method`, at most `patience` from the connection to the end. Rejects with the system's error, or on timeout. */
export function ask(
  url: URL,
  options: { method?: string; headers?: Record<string, string>; host?: string; signal: AbortSignal },
): Promise<Answer> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(patience)])
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  // Neither the agent's pool nor keep-alive: nothing of a check may stay open.
  const headers = {
    'user-agent': 'pagecache-doctor',
    connection: 'close',
    ...options.headers,
    ...(options.host && { host: options.host }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const request = send(url, { agent: false, method: options.method ?? 'GET', headers, signal }, (response) => {
    let text = ''
    const answer = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      if (text.length < bodyLimit) return
      answer()
      request.destroy()
    })
    response.once('end', answer)
    response.once('error', reject)
  })
  request.once('error', (error) => reject(signal.aborted ? new Error(`no answer within ${patience / 1000} s`) : error))
  request.end()
  return promise
}
