import type { Memo } from '../../lib/memo.ts'
import type { HeaderPair } from '../../pages/page.ts'
import type { OriginError } from './error.ts'

/** A request to the shop. `headers` has no hop-by-hop field. */
export interface ExchangeRequest {
  /** Scheme, host and port of the shop. */
  origin: string
  method: string
  /** Path and query. */
  target: string
  headers: readonly HeaderPair[]
  /**
   * `stream`: the caller sends the body with `Exchange.write` and `end`. Its length is that of the Content-Length field;
   * without that field it is sent in chunks.
   */
  body: Buffer | 'stream' | null
  /** Keeps what was rendered of `headers`, where further requests have the same ones. */
  memo?: Memo
}

/** The head of a final response. */
export interface ResponseHead {
  status: number
  headers: HeaderPair[]
  /** The number of bytes of the body; null when only its end will tell. */
  length: number | null
}

/**
 * Receives one response: `onInterim` any number of times, `onHead`, `onData` any number of times, and then either
 * `onEnd` or `onError`, which may also come earlier. Nothing is called after `onEnd`, `onError` or `Exchange.abort`, and
 * nothing before `begin` has returned.
 *
 * What one read of the connection brought is reported in one turn, so that a sink that writes at the end of the turn
 * (`cork`, then `uncork` in `process.nextTick`) sends head and body in one write.
 */
export interface ResponseSink {
  /** An interim response (1xx) other than 100. */
  onInterim(status: number, headers: readonly HeaderPair[]): void
  /** False holds the body back until `Exchange.resume`. */
  onHead(head: ResponseHead): boolean
  /**
   * A piece of the body, never empty. Its memory is reused after the call: a sink that keeps the piece copies it. False
   * pauses reading until `Exchange.resume`; the end may still be reported, because it may have been read already.
   */
  onData(piece: Buffer): boolean
  /**
   * The response is complete.
   *
   * @param overlong whether more bytes came than it announced, so that its length may be wrong
   */
  onEnd(overlong: boolean): void
  onError(error: OriginError): void
  /** The shop takes more of the request body: after `Exchange.write` has returned false, or when the connection is open. */
  onDrain(): void
}

/** One request and its response. */
export interface Exchange {
  /** Whether nothing more will be reported. */
  readonly over: boolean
  /**
   * Sends a piece of the request body, which must not change afterwards. False: wait for `onDrain`. Ignored once the
   * exchange is over: a shop may answer before it has read everything.
   */
  write(piece: Buffer): boolean
  /** Ends the request body. */
  end(): void
  pause(): void
  resume(): void
  /** Gives up: closes the connection unless the exchange is over. */
  abort(): void
}
