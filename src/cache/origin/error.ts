/**
 * How the origin failed: too slow, unreachable, an incomplete or invalid response, or more requests than it may get at
 * a time.
 */
export type OriginFailure = 'timeout' | 'unreachable' | 'broken' | 'overloaded'

/** The origin gave no usable response. */
export class OriginError extends Error {
  readonly failure: OriginFailure

  constructor(message: string, failure: OriginFailure, cause: unknown = null) {
    super(message, { cause })
    this.name = 'OriginError'
    this.failure = failure
  }
}
