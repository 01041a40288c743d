import type { Socket } from 'node:net'
import { hasField, fieldValue } from '../../cache/fields.ts'
import type { OriginError } from '../../cache/origin.ts'
import type { Exchange, ResponseHead } from '../../cache/origin/exchange.ts'
import type { PassSink } from '../../cache/pass-through.ts'
import { originErrorAnswer, plainAnswer } from '../../cache/refusal.ts'
import { formatHttpDate } from '../../lib/http-date.ts'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../../cache/visit.ts'
import { renderHead } from './render.ts'
import type { RequestRecord } from './request-record.ts'
import { resultOf } from './traffic.ts'

/** The connection that an answer is written to. */
export interface PassConnection {
  readonly socket: Socket
  /** Whether the connection ends after an answer that begins now. */
  readonly isLast: boolean
  /** Milliseconds until a client that does not read is cut. */
  readonly stall: number
  onError(message: string, error: unknown): void
  /** The answer is complete. `isLast`: it said that the connection ends. */
  onAnswered(isLast: boolean): void
}

const lastChunk = Buffer.from('0\r\n\r\n')
const lineBreak = Buffer.from('\r\n')

/** Writes the shop's response to a visitor: what one read of the shop's connection brought, in one write. */
export class PassAnswer implements PassSink {
  exchange: Exchange | null = null
  /** 0 until the final head is written. */
  status = 0
  readonly #connection: PassConnection
  readonly #method: string
  readonly #record: RequestRecord
  #isLast = false
  #chunked = false
  #ended = false
  /** What is written at the end of this turn. */
  #pending: Buffer[] = []

  constructor(connection: PassConnection, method: string, record: RequestRecord) {
    this.#connection = connection
    this.#method = method
    this.#record = record
  }

  onInterim(status: number, headers: readonly HeaderPair[]): void {
    this.#connection.socket.write(renderHead(status, headers))
  }

  onHead({ status, headers }: ResponseHead): boolean {
    this.#record.beginAnswer('pass')
    this.#chunked = this.#mayHaveBody(status) && !hasField(headers, 'content-length')
    this.#writeHead(status, headers, this.#chunked ? [['Transfer-Encoding', 'chunked']] : [])
    return true
  }

  onData(piece: Buffer): boolean {
    if (this.#chunked) this.#write(Buffer.from(`${piece.length.toString(16)}\r\n`))
    this.#write(Buffer.from(piece))
    if (this.#chunked) this.#write(lineBreak)
    return true
  }

  onEnd(): void {
    if (this.#chunked) this.#write(lastChunk)
    this.#end()
  }

  onError(error: OriginError): void {
    if (this.status > 0) this.#connection.socket.destroy()
    else this.#answer(originErrorAnswer(error))
  }

  onFault(error: unknown): void {
    this.#connection.onError('Could not answer a request', error)
    this.#answer(plainAnswer(500, 'Internal error.'))
  }

  /** The whole request body was given to the exchange. */
  onDrain(): void {}

  #answer({ status, headers, body }: Answer): void {
    this.#record.beginAnswer(resultOf(fieldValue(headers, 'cache-status')))
    this.#writeHead(status, headers, [])
    if (this.#method !== 'HEAD') this.#write(body as Buffer)
    this.#end()
  }

  #mayHaveBody(status: number): boolean {
    return this.#method !== 'HEAD' && status !== 204 && status !== 304
  }

  #writeHead(status: number, headers: readonly HeaderPair[], framing: readonly HeaderPair[]): void {
    this.status = status
    this.#isLast = this.#connection.isLast
    const fields = [...headers, ...framing]
    if (!hasField(headers, 'date')) fields.push(['Date', formatHttpDate(Date.now())])
    if (this.#isLast) fields.push(['Connection', 'close'])
    this.#write(renderHead(status, fields))
  }

  #write(bytes: Buffer): void {
    if (this.#pending.push(bytes) === 1) process.nextTick(this.#flush)
  }

  #end(): void {
    this.#ended = true
    this.#flush()
    this.#connection.onAnswered(this.#isLast)
  }

  readonly #flush = (): void => {
    const pending = this.#pending
    if (pending.length === 0) return
    this.#pending = []
    const { socket, stall } = this.#connection
    // The visitor has left, and `close` is on its way.
    if (!socket.writable) return
    socket.cork()
    let flushed = true
    for (const bytes of pending) flushed = socket.write(bytes)
    socket.uncork()
    if (flushed || this.#ended || socket.writableLength === 0) return
    // One read of the shop's connection waits in memory for a slow client, no more.
    this.exchange!.pause()
    socket.setTimeout(stall)
    socket.once('drain', () => {
      if (this.#ended) return
      socket.setTimeout(0)
      this.exchange!.resume()
    })
  }
}
