import type { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { resetByPeer, resetIsNoEnd } from '../lib/reset-is-no-end.ts'
import type { HeaderPair } from '../pages/page.ts'
import { dispatch } from './origin-dispatch.ts'
import { readInPieces } from './pieces.ts'
import { VisitorLeft } from './visit.ts'

/**
 * In milliseconds. `total` limits fetches for the cache; a transfer that is passed through has no total limit, only
 * `idle`.
 */
export interface OriginTimeouts {
  connect: number
  headers: number
  idle: number
  total: number
}

export interface OriginRequest {
  /** Scheme, host and port of the shop. */
  origin: string
  method: string
  /** Path and query. */
  target: string
  headers: readonly HeaderPair[]
  body: Readable | null
  signal: AbortSignal
  onInterim(status: number, headers: readonly HeaderPair[]): void
}

export interface OriginResponse {
  status: number
  headers: HeaderPair[]
  body: Readable
}

/** How the origin failed: too slow, unreachable, or an incomplete or invalid response. */
export type OriginFailure = 'timeout' | 'unreachable' | 'broken'

/** The origin gave no usable response. */
export class OriginError extends Error {
  readonly failure: OriginFailure

  constructor(message: string, failure: OriginFailure, cause: unknown) {
    super(message, { cause })
    this.name = 'OriginError'
    this.failure = failure
  }
}

/** The largest block of response fields, in bytes: long tag lists exceed Node's 16 KiB. */
const maxHeaderSize = 256 * 1024

/** The HTTP client for all origins: one agent with keep-alive connections. */
export class OriginClient {
  readonly #agent: Agent
  readonly #timeouts: OriginTimeouts

  private constructor(agent: Agent, timeouts: OriginTimeouts) {
    this.#agent = agent
    this.#timeouts = timeouts
  }

  static async open(timeouts: OriginTimeouts): Promise<OriginClient> {
    const { Agent, buildConnector } = await import('undici')
    const agent = new Agent({
      maxHeaderSize,
      connect: resetIsNoEnd(buildConnector({ timeout: timeouts.connect, allowH2: false, ...readInPieces })),
      headersTimeout: timeouts.headers,
      bodyTimeout: timeouts.idle,
      // Shorter than the idle timeout of web servers (five seconds or more), so that we close first.
      keepAliveTimeout: 4000,
      allowH2: false,
    })
    return new OriginClient(agent, timeouts)
  }

  /**
   * Sends a request and resolves with the response head.
   *
   * @throws OriginError when there is no valid response head, VisitorLeft when that was the abort reason
   */
  async send(request: OriginRequest): Promise<OriginResponse> {
    try {
      return await this.#dispatch(request)
    } catch (error) {
      if (!request.signal.aborted && isRepeatable(request) && isStaleConnection(error)) {
        return await this.#dispatch(request).catch((again: unknown) => {
          throw toOriginError(again)
        })
      }
      throw toOriginError(error)
    }
  }

  async #dispatch(request: OriginRequest): Promise<OriginResponse> {
    return await dispatch(this.#agent, {
      origin: request.origin,
      path: request.target,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers.flat(),
      body: request.body,
      signal: request.signal,
      onInterim: (status, headers) => {
        if (status !== 100) request.onInterim(status, headers)
      },
    })
  }

  /** The limit for a whole fetch for the cache, in milliseconds. */
  get totalTimeout(): number {
    return this.#timeouts.total
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

function isRepeatable(request: OriginRequest): boolean {
  return request.body === null && (request.method === 'GET' || request.method === 'HEAD')
}

/** Whether the shop closed a kept-alive connection just as it was reused: it processed nothing of the request. */
function isStaleConnection(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return (
    code === 'ECONNRESET' ||
    code === resetByPeer ||
    code === 'EPIPE' ||
    (code === 'UND_ERR_SOCKET' && /other side closed/.test(message ?? ''))
  )
}

/** @param answering whether the error came after the response head */
export function toOriginError(error: unknown, answering = false): OriginError | VisitorLeft {
  if (error instanceof OriginError || error instanceof VisitorLeft) return error
  const { code: given, name, message } = error as { code?: unknown; name?: string; message?: string }
  // The code of a DOMException (abort, timeout) is a number.
  const code = typeof given === 'string' ? given : ''
  const timedOut = /TIMEOUT|ETIMEDOUT/.test(code) || name === 'TimeoutError'
  const broken = answering || code.startsWith('HPE_') || code.startsWith('UND_ERR_RES')
  return new OriginError(
    message || code || String(error),
    timedOut ? 'timeout' : broken ? 'broken' : 'unreachable',
    error,
  )
}
