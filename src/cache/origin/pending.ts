import type { HeaderPair } from '../../pages/page.ts'
import type { Connection, Task } from './connection.ts'
import type { OriginError } from './error.ts'
import type { Exchange, ExchangeRequest, ResponseHead, ResponseSink } from './exchange.ts'
import type { Pool } from './pool.ts'
import type { RequestHead } from './request-head.ts'
import type { Guest, Slot } from './slots.ts'

/** An exchange: waits for its turn, is carried by a connection, and once by another where that one was closed. */
export class PendingExchange implements Exchange, Task, Guest {
  readonly method: string
  readonly head: RequestHead
  readonly body: Buffer | null
  expires: number
  /** Its place among the requests to the origin; null where it needs none. */
  slot: Slot | null = null
  readonly #pool: Pool
  readonly #sink: ResponseSink
  /** Whether it may be sent once more, where the shop closed the connection instead of a response. */
  #repeatable: boolean
  #connection: Connection | null = null
  over = false
  /** What of the body came before the exchange was admitted, or the end of a body that came slowly. */
  #early: Buffer[] = []
  /** Missing bytes of the body; null where its end will tell. */
  #owed: number | null
  #ended = false

  constructor(request: ExchangeRequest, head: RequestHead, sink: ResponseSink, pool: Pool, expires: number) {
    this.method = request.method
    this.head = head
    this.body = request.body === 'stream' ? null : request.body
    this.expires = expires
    this.#sink = sink
    this.#pool = pool
    this.#owed = request.body === 'stream' ? head.length : 0
    this.#repeatable = request.body === null && (request.method === 'GET' || request.method === 'HEAD')
  }

  get isReceiving(): boolean {
    return !this.#ended && (this.#owed === null || this.#owed > 0)
  }

  /** Whether it waits for a place. */
  get isWaiting(): boolean {
    return this.slot?.state === 'waiting'
  }

  admitted(): void {
    if (this.over) return
    this.#connection ??= this.#pool.carry(this)
    const early = this.#early.splice(0)
    const flushed = early.map((piece) => this.#connection?.write(piece)).at(-1) === true
    if (this.#ended) this.#connection?.end()
    else if (flushed) this.#sink.onDrain()
  }

  refused(error: OriginError): void {
    const connection = this.#connection
    this.onError(error, false)
    connection?.destroy()
  }

  write(piece: Buffer): boolean {
    if (this.over) return true
    if (this.#owed !== null) this.#owed -= piece.length
    if (this.#connection !== null && this.#maySend()) return this.#connection.write(piece)
    this.#early.push(piece)
    return false
  }

  end(): void {
    this.#ended = true
    if (this.#maySend()) this.#connection?.end()
  }

  /** Whether what comes of the body may be sent: its end makes the shop work, so it needs a place. */
  #maySend(): boolean {
    return this.isReceiving || this.slot === null || this.slot.received()
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    this.#connection?.resume()
  }

  abort(): void {
    if (this.over) return
    const connection = this.#connection
    this.#leave()
    connection?.destroy()
  }

  /** Lifts the limit for the whole response. */
  extend(): void {
    this.expires = Infinity
    this.#connection?.extend()
  }

  onInterim(status: number, headers: readonly HeaderPair[]): void {
    this.#sink.onInterim(status, headers)
  }

  onHead(head: ResponseHead): boolean {
    this.slot?.answering()
    return this.#sink.onHead(head)
  }

  onData(piece: Buffer): boolean {
    return this.#sink.onData(piece)
  }

  onDrain(): void {
    this.#sink.onDrain()
  }

  onEnd(overlong: boolean): void {
    this.#leave()
    this.#sink.onEnd(overlong)
  }

  onError(error: OriginError, unanswered: boolean): void {
    if (this.over) return
    if (unanswered && this.#repeatable) {
      this.#repeatable = false
      this.#connection = this.#pool.carry(this, true)
      return
    }
    this.#leave()
    this.#sink.onError(error)
  }

  #leave(): void {
    this.over = true
    this.#connection = null
    this.slot?.leave()
  }
}
