import type { Client } from 'undici'
import { resetIsNoEnd } from '../../lib/reset-is-no-end.ts'
import type { Step } from './plan.ts'

export interface SendOptions {
  /** `reverseProxies[].url`; may carry credentials. */
  url: string
  /** Milliseconds from the connection to the end of the answer. */
  timeout: number
}

/** What a proxy made of one request. `refused`: it answers, but will not take this one as it is. */
export type Outcome =
  | { kind: 'done'; ms: number; text: string }
  | { kind: 'refused'; ms: number; error: string }
  | { kind: 'failed'; ms: number; error: string }

/** A proxy's answer is short; what comes beyond this is not read. */
const longestAnswer = 64 * 1024

/** Statuses by which a server says that it is this request that it cannot take: too long, or not to its liking. */
const refusals = new Set([400, 413, 414, 431])

/** Sends purges to one reverse proxy over a few connections of its own; `close` ends them. */
export class PurgeSender {
  readonly #clients: readonly Client[]
  readonly #options: SendOptions
  readonly #authorization: string | null

  /** @param connections how many requests are under way at once */
  static async open(options: SendOptions, connections: number): Promise<PurgeSender> {
    const { Client, buildConnector } = await import('undici')
    const { origin } = new URL(options.url)
    const connect = resetIsNoEnd(buildConnector({ timeout: options.timeout, allowH2: false }))
    const clients = Array.from(
      { length: connections },
      () => new Client(origin, { allowH2: false, pipelining: 1, connect, headersTimeout: 0, bodyTimeout: 0 }),
    )
    return new PurgeSender(clients, options)
  }

  private constructor(clients: readonly Client[], options: SendOptions) {
    this.#clients = clients
    this.#options = options
    const { username, password } = new URL(options.url)
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    this.#authorization = credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`
  }

  get connections(): number {
    return this.#clients.length
  }

  /** Sends one request on a connection and reads the whole answer. Never rejects: what went wrong is the outcome. */
  async send(step: Step, connection: number, end: AbortSignal): Promise<Outcome> {
    const started = performance.now()
    const timeout = AbortSignal.timeout(this.#options.timeout)
    const spent = () => Math.round((performance.now() - started) * 100) / 100
    try {
      const { method, path, headers } = toRequest(step)
      const { statusCode, body } = await this.#clients[connection]!.request({
        method,
        path,
        headers: {
          ...headers,
          'user-agent': 'pagecache',
          ...(this.#authorization !== null && { authorization: this.#authorization }),
        },
        signal: AbortSignal.any([timeout, end]),
      })
      const text = await readText(body)
      if (statusCode >= 200 && statusCode < 300) return { kind: 'done', ms: spent(), text }
      const error = `it answered ${statusCode} to ${method}${text === '' ? '' : `: ${text}`}`
      return { kind: refusals.has(statusCode) ? 'refused' : 'failed', ms: spent(), error }
    } catch (error) {
      const refused = (error as NodeJS.ErrnoException).code === 'UND_ERR_INVALID_ARG'
      return {
        kind: refused ? 'refused' : 'failed',
        ms: spent(),
        error: timeout.aborted ? `no answer within ${this.#options.timeout / 1000} s` : reasonOf(error),
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.destroy()))
  }
}

/** What is sent, byte for byte as Shopware's gateway and the VCLs for it have it; a soft purge is a hard one for a VCL that knows none. */
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

/** Beyond Latin-1 a tag is its bytes in UTF-8, as a shop would have written it into its header. */
function toFieldValue(text: string): string {
  return /[^\x00-\xff]/.test(text) ? Buffer.from(text).toString('latin1') : text
}

/** The beginning of an answer, as one line to be read. */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > longestAnswer) break
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
  if (code === 'ECONNREFUSED') return 'nobody listens there'
  if (code === 'ENOTFOUND') return 'there is no such host'
  return message || code || String(error)
}
