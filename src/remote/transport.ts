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
  /** The JSON of the body; undefined where it is none. */
  value: unknown
}

/** Milliseconds. A warmup reads all sitemaps before it answers. */
const connectTimeout = 10_000
const answerTimeout = 15 * 60_000
/** Lists are paged; more than this is no answer of ours. */
const largestAnswer = 64 * 1024 * 1024

/** Speaks HTTP with one daemon. Every failure is an error that says what to do about it. */
export class Transport {
  readonly #agent: Agent
  readonly #server: string
  readonly #signal: AbortSignal

  private constructor(agent: Agent, server: string, signal: AbortSignal) {
    this.#agent = agent
    this.#server = server
    this.#signal = signal
  }

  static async open(server: string, signal: AbortSignal): Promise<Transport> {
    const { Agent, buildConnector } = await import('undici')
    const agent = new Agent({
      connect: resetIsNoEnd(buildConnector({ timeout: connectTimeout, allowH2: false })),
      headersTimeout: answerTimeout,
      bodyTimeout: 60_000,
      allowH2: false,
      maxResponseSize: largestAnswer,
    })
    return new Transport(agent, server, signal)
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
    await this.#agent.destroy()
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
  const [what, hint] = (explanations.find(([codes]) => codes.test(code))?.slice(1) as [string, string] | undefined) ?? [
    message,
    'Look into the log of the daemon.',
  ]
  return new PagecacheError(
    'SERVER_UNREACHABLE',
    `${server} cannot be asked: ${what}${code === '' || what === message ? '' : ` (${code})`}.`,
    { hint, cause: error },
  )
}

/** Where several addresses of a name were tried, the first one's error speaks for all. */
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

const explanations: [codes: RegExp, what: string, hint: string][] = [
  [/^ECONNREFUSED$/, 'nothing listens there', 'Start the daemon (pagecache serve), or correct the address.'],
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'its name is not known',
    'Correct the host of the address, or try again when names are resolved.',
  ],
  [
    /TIMEOUT|^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    'it does not answer in time',
    'Is the machine up, and the port open to this one?',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired', 'Renew the certificate.'],
  [
    /ALTNAME/,
    'its certificate is for another name',
    'Use the name that stands in the certificate, or get one for this name.',
  ],
  [
    /SELF_SIGNED|UNABLE_TO|CERT_|^ERR_TLS/,
    'its certificate is not trusted here',
    'With a certificate authority of your own, name its file in NODE_EXTRA_CA_CERTS.',
  ],
  [
    /^(EPROTO|ERR_SSL.*)$/,
    'it does not speak TLS as expected',
    'Does the address begin with the right one of http:// and https://?',
  ],
  [
    new RegExp(`^(UND_ERR_SOCKET|ECONNRESET|${resetByPeer}|EPIPE|HPE_.*)$`),
    'it broke off, or does not speak HTTP',
    'Does the address begin with the right one of http:// and https://? Is the daemon being restarted?',
  ],
]
