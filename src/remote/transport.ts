import type { Agent } from 'undici'
import { PagecacheError } from '../errors.ts'
import { resetByPeer, resetIsNoEnd } from '../lib/reset-is-no-end.ts'

export interface RemoteRequest {
  method: string
  /** Path and query, below the server's URL. */
  path: string
  headers: Readonly<Record<string, string>>
  body: string | null
}

export interface RemoteResponse {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed body; undefined if it is not JSON. */
  value: unknown
}

export interface RemoteStream extends RemoteResponse {
  /** The pieces of a stream of events; null for any other response. */
  chunks: AsyncIterable<Buffer> | null
}

/** Timeouts in ms. warmup:start reads all sitemaps before it responds. */
const connectTimeout = 10_000
const responseTimeout = 15 * 60_000
/** Lists are paged, so no response of a daemon is larger, in bytes. */
const maxResponseSize = 64 * 1024 * 1024

/** HTTP connection to one daemon. */
export class Transport {
  readonly #agent: Agent
  /** Without a limit of size: a stream has no end. */
  readonly #streams: Agent
  readonly #server: string
  readonly #signal: AbortSignal

  private constructor([agent, streams]: [Agent, Agent], server: string, signal: AbortSignal) {
    this.#agent = agent
    this.#streams = streams
    this.#server = server
    this.#signal = signal
  }

  static async open(server: string, signal: AbortSignal): Promise<Transport> {
    const { Agent, buildConnector } = await import('undici')
    const options = {
      connect: resetIsNoEnd(buildConnector({ timeout: connectTimeout, allowH2: false })),
      headersTimeout: responseTimeout,
      bodyTimeout: 60_000,
      allowH2: false,
    }
    return new Transport([new Agent({ ...options, maxResponseSize }), new Agent(options)], server, signal)
  }

  /**
   * Sends a request whose answer may be a stream without an end.
   *
   * @throws SERVER_UNREACHABLE, also while the stream is read
   */
  async open({ method, path, headers, body }: RemoteRequest, signal: AbortSignal): Promise<RemoteStream> {
    const { origin, pathname } = new URL(this.#server)
    const target = pathname.replace(/\/$/, '') + path
    try {
      const response = await this.#streams.request({ origin, path: target, method, headers, body, signal })
      const { statusCode: status, headers: fields } = response
      if (String(fields['content-type']).startsWith('text/event-stream'))
        return { status, headers: fields, value: undefined, chunks: this.#chunksOf(response.body, signal) }
      return { status, headers: fields, value: parseJson(await response.body.text()), chunks: null }
    } catch (error) {
      throw signal.aborted ? error : toUnreachable(this.#server, error)
    }
  }

  async *#chunksOf(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      yield* body
    } catch (error) {
      throw signal.aborted ? error : toUnreachable(this.#server, error)
    }
  }

  /** @throws SERVER_UNREACHABLE */
  async send({ method, path, headers, body }: RemoteRequest): Promise<RemoteResponse> {
    const { origin, pathname } = new URL(this.#server)
    try {
      const target = pathname.replace(/\/$/, '') + path
      const response = await this.#agent.request({
        origin,
        path: target,
        method,
        headers: { accept: 'application/json', ...headers },
        body,
        signal: this.#signal,
      })
      return { status: response.statusCode, headers: response.headers, value: parseJson(await response.body.text()) }
    } catch (error) {
      throw this.#signal.aborted ? error : toUnreachable(this.#server, error)
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#streams.destroy()])
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toUnreachable(server: string, error: unknown): PagecacheError {
  const { code, message } = rootOf(error)
  const [reason, hint] = (explanations.find(([codes]) => codes.test(code))?.slice(1) as
    | [string, string]
    | undefined) ?? [message, 'Check the log of the daemon.']
  return new PagecacheError(
    'SERVER_UNREACHABLE',
    `Could not reach ${server}: ${reason}${code === '' || reason === message ? '' : ` (${code})`}.`,
    { hint, cause: error },
  )
}

/** The underlying error; of an AggregateError of several addresses, the first one. */
function rootOf(error: unknown): { code: string; message: string } {
  const { errors, cause, code, message } = error as {
    errors?: unknown[]
    cause?: unknown
    code?: string
    message?: string
  }
  if (errors !== undefined && errors.length > 0) return rootOf(errors[0])
  if (code === undefined && cause !== undefined) return rootOf(cause)
  return { code: code ?? '', message: (message ?? String(error)).split('\n')[0]! }
}

const explanations: [codes: RegExp, reason: string, hint: string][] = [
  [/^ECONNREFUSED$/, 'connection refused', 'Start the daemon with pagecache serve, or correct the address.'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'unknown host', 'Correct the host of the address, or check DNS.'],
  [
    /TIMEOUT|^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    'timeout',
    'Check that the machine is up and its port is open to this machine.',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired', 'Renew the certificate.'],
  [
    /ALTNAME/,
    'its certificate is for another name',
    'Use a name from the certificate, or get a certificate for this name.',
  ],
  [
    /SELF_SIGNED|UNABLE_TO|CERT_|^ERR_TLS/,
    'its certificate is not trusted',
    'For a private certificate authority, set NODE_EXTRA_CA_CERTS to its file.',
  ],
  [/^(EPROTO|ERR_SSL.*)$/, 'TLS handshake failed', 'Check whether the address should start with http:// or https://.'],
  [
    new RegExp(`^(UND_ERR_SOCKET|ECONNRESET|${resetByPeer}|EPIPE|HPE_.*)$`),
    'the connection broke off',
    'Check whether the address should start with http:// or https://, and whether the daemon is restarting.',
  ],
]
