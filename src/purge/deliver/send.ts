import type { Pool } from 'undici'
import { basicAuthorization } from '../../lib/url.ts'
import { resetIsNoEnd } from '../../lib/reset-is-no-end.ts'
import { TimeLimit } from '../../lib/time-limit.ts'
import type { Step } from './plan.ts'

export interface SendOptions {
  /** `reverseProxies[].url`; may contain credentials. */
  url: string
  /** Milliseconds from the start of the request to the end of the response. */
  timeout: number
}

/** The result of one request. `refused`: the proxy is reachable but rejects this request as such. */
export type SendResult =
  | { kind: 'done'; ms: number; text: string }
  | { kind: 'refused'; ms: number; error: string }
  | { kind: 'failed'; ms: number; error: string }

/** Bytes read of a response body: a proxy's response is short. */
const maxResponseBody = 64 * 1024

/** Statuses that reject the request itself: malformed or too long. */
const refusals = new Set([400, 413, 414, 431])

/** Sends purges to one reverse proxy over its own connection pool. */
export class PurgeSender {
  readonly #pool: Pool
  readonly #options: SendOptions
  readonly #authorization: string | null

  /** @param connections most connections, and so requests, at a time */
  static async open(options: SendOptions, connections: number): Promise<PurgeSender> {
    const { Pool, buildConnector } = await import('undici')
    const { origin } = new URL(options.url)
    const connect = resetIsNoEnd(buildConnector({ timeout: options.timeout, allowH2: false }))
    const pool = new Pool(origin, {
      connections,
      allowH2: false,
      pipelining: 1,
      connect,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    return new PurgeSender(pool, options)
  }

  private constructor(pool: Pool, options: SendOptions) {
    this.#pool = pool
    this.#options = options
    this.#authorization = basicAuthorization(new URL(options.url))
  }

  /** Sends one request and reads the whole response. Never rejects: an error is a result. */
  async send(step: Step, end: AbortSignal): Promise<SendResult> {
    const started = performance.now()
    const limit = new TimeLimit(this.#options.timeout, end)
    const elapsed = () => Math.round((performance.now() - started) * 100) / 100
    try {
      const { method, path, headers } = toRequest(step)
      const { statusCode, body } = await this.#pool.request({
        method,
        path,
        headers: {
          ...headers,
          'user-agent': 'pagecache',
          ...(this.#authorization !== null && { authorization: this.#authorization }),
        },
        signal: limit.signal,
      })
      const text = await readText(body)
      if (statusCode >= 200 && statusCode < 300) return { kind: 'done', ms: elapsed(), text }
      const error = `it answered ${statusCode} to ${method}${text === '' ? '' : `: ${text}`}`
      return { kind: refusals.has(statusCode) ? 'refused' : 'failed', ms: elapsed(), error }
    } catch (error) {
      const refused = (error as NodeJS.ErrnoException).code === 'UND_ERR_INVALID_ARG'
      return {
        kind: refused ? 'refused' : 'failed',
        ms: elapsed(),
        error: limit.isLate ? `no answer within ${this.#options.timeout / 1000} s` : reasonOf(error),
      }
    } finally {
      limit.end()
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}

/** The request of a step, byte for byte what Shopware's gateway sends to its VCL. A VCL without soft purges treats one as a hard purge. */
function toRequest(step: Step): { method: string; path: string; headers: Record<string, string> } {
  switch (step.kind) {
    case 'tags':
      return {
        method: 'PURGE',
        path: '/',
        headers: { xkey: toFieldValue(step.tags.join(' ')), ...(step.soft && { 'xkey-softpurge': '1' }) },
      }
    case 'url':
      return { method: 'PURGE', path: step.path, headers: { host: step.host } }
    case 'pattern':
      return { method: 'BAN', path: step.pattern, headers: {} }
    case 'everything':
      return { method: 'BAN', path: '/', headers: {} }
  }
}

/** Encodes a tag outside Latin-1 as its UTF-8 bytes, as the shop wrote it into its response header. */
function toFieldValue(text: string): string {
  return /[^\x00-\xff]/.test(text) ? Buffer.from(text).toString('latin1') : text
}

/** The start of a response body as one line of text, without markup. */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxResponseBody) break
  }
  const text = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/<[^<>]*>/g, ' ')
  return text
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
    .slice(0, 200)
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND') return 'host not found'
  return message || code || String(error)
}
