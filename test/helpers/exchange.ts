import { request as overHttp, type IncomingMessage } from 'node:http'
import { request as overHttps } from 'node:https'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { until } from './until.ts'

export interface Answer {
  status: number
  headers: Headers
  /** Still encoded. */
  body: Buffer
}

export interface ExchangeOptions {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
  /** The address to connect from. */
  localAddress?: string
}

/**
 * One request on a connection of its own, with exactly these header fields: `fetch` adds some, forbids `Host` and decompresses. Accepts every
 * certificate.
 */
export async function exchange(url: string, options: ExchangeOptions = {}): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, localAddress } = options
    const request = url.startsWith('https:') ? overHttps : overHttp
    const how = { method, headers, agent: false, localAddress, rejectUnauthorized: false }
    const outgoing = request(url, how, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        resolve({ status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: Buffer.concat(chunks) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(options.body)
  })
}

/** The body in identity coding. */
export function decoded(answer: Answer): Buffer {
  switch (answer.headers.get('content-encoding')) {
    case 'gzip':
      return gunzipSync(answer.body)
    case 'br':
      return brotliDecompressSync(answer.body)
    case 'zstd':
      return zstdDecompressSync(answer.body)
    default:
      return answer.body
  }
}

/** Repeats a request until it is answered from the cache: a page is stored a moment after its first answer. Returns the hit. */
export async function untilHit(ask: () => Promise<Answer>): Promise<Answer> {
  return await until(async () => {
    const answer = await ask()
    return isHit(answer) && answer
  })
}

/** Whether `Cache-Status` (RFC 9211) reports a hit. */
export function isHit(answer: Answer): boolean {
  return /;\s*hit\b/.test(answer.headers.get('cache-status') ?? '')
}

function headersOf(incoming: IncomingMessage): Headers {
  const headers = new Headers()
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2)
    headers.append(incoming.rawHeaders[i] ?? '', incoming.rawHeaders[i + 1] ?? '')
  return headers
}
