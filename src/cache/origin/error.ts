import type { ForwardReason } from '../cache-status.ts'
import { VisitorLeft } from '../visit.ts'

/**
 * How the origin failed: too slow, unreachable, an incomplete or invalid response, or more requests than it may get at
 * a time.
 */
export type OriginFailure = 'timeout' | 'unreachable' | 'broken' | 'overloaded'

/** The origin gave no usable response. */
export class OriginError extends Error {
  readonly failure: OriginFailure
  /** For `Cache-Status`; null until a caller of the client has set it. */
  why: ForwardReason | null = null

  constructor(message: string, failure: OriginFailure, cause: unknown = null) {
    super(message, { cause })
    this.name = 'OriginError'
    this.failure = failure
  }
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
