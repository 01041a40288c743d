import { Readable } from 'node:stream'
import type { PendingExchange } from './pending.ts'

/** The body of a response as a stream. Reads the connection only as fast as its own reader. */
export class ResponseBody extends Readable {
  readonly #exchange: PendingExchange
  #whole = false

  constructor(exchange: PendingExchange) {
    // No read-ahead: buffers of hundreds of slow visitors would add up.
    super({ highWaterMark: 0 })
    this.#exchange = exchange
    // The body may fail before it has a reader, which adds its own listener.
    this.on('error', () => {})
  }

  /** Takes a piece; false when its reader wants no other one now. */
  receive(piece: Buffer): boolean {
    // Memory of its own, so that `releaseSentPieces` can free it.
    const own = Buffer.allocUnsafeSlow(piece.length)
    piece.copy(own)
    // A reader that paused during this piece must not have a second one buffered.
    return this.push(own) && !this.isPaused()
  }

  finish(): void {
    this.#whole = true
    this.push(null)
  }

  override _read(): void {
    this.#exchange.resume()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#whole) this.#exchange.abort()
    callback(error)
  }
}
