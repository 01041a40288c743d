import { request as requestHttp, type IncomingHttpHeaders } from 'node:http'
import { request as requestHttps } from 'node:https'
import pLimit from 'p-limit'

/** Time limit of a network check, in ms. A slower server would keep visitors waiting too. */
export const checkTimeout = 3000

/** Checks read no further than this, in characters. */
const bodyLimit = 64 * 1024

/** Requests in flight at once, however many sales channels and reverse proxies are configured. */
const limit = pLimit(8)

export interface ProbeOptions {
  /** Default: GET. */
  method?: string
  headers?: Record<string, string>
  host?: string
  signal: AbortSignal
}

export interface ProbeResponse {
  status: number
  headers: IncomingHttpHeaders
  /** The beginning of the body. */
  text: string
}

/** Sends one request and reads the response within `checkTimeout`. Rejects with the system's error or a timeout. */
export function probe(url: URL, options: ProbeOptions): Promise<ProbeResponse> {
  return limit(() => send(url, options))
}

function send(url: URL, options: ProbeOptions): Promise<ProbeResponse> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(checkTimeout)])
  const requestUrl = url.protocol === 'https:' ? requestHttps : requestHttp
  // Without a pool and keep-alive, no connection outlives the check.
  const headers = {
    'user-agent': 'pagecache-doctor',
    connection: 'close',
    ...options.headers,
    ...(options.host && { host: options.host }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<ProbeResponse>()
  const request = requestUrl(url, { agent: false, method: options.method ?? 'GET', headers, signal }, (response) => {
    let text = ''
    const finish = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      if (text.length < bodyLimit) return
      finish()
      request.destroy()
    })
    response.once('end', finish)
    response.once('error', reject)
  })
  request.once('error', (error) =>
    reject(signal.aborted ? new Error(`no response within ${checkTimeout / 1000} s`) : error),
  )
  request.end()
  return promise
}
