import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { hasField } from '../../cache/fields.ts'
import type { OriginError } from '../../cache/origin.ts'
import type { Exchange, ResponseHead } from '../../cache/origin/exchange.ts'
import type { PassSink } from '../../cache/pass-through.ts'
import { originErrorAnswer, plainAnswer, type Refuse } from '../../cache/refusal.ts'
import type { StreamedBody } from '../../cache/visit.ts'
import { compact } from '../../lib/buffers.ts'
import { formatHttpDate } from '../../lib/http-date.ts'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../answer.ts'
import { drop, stream } from '../send.ts'
import { lastChunk, openBodySink, toChunk } from './body-sink.ts'
import { countedBody } from './counted-body.ts'
import { sendInterim } from './interim.ts'
import { renderHead } from './render.ts'
import type { RequestRecord } from './request-record.ts'
import { holdUntilDrained } from './send-view.ts'

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

/** Bytes. Copying more into one buffer costs more than handing several to the kernel. */
const mostCopied = 16 * 1024

function writeAtOnce(socket: Socket, pieces: readonly Buffer[]): boolean {
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  if (size <= mostCopied) return socket.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, size))
  socket.cork()
  let flushed = true
  for (const bytes of pieces) flushed = socket.write(bytes)
  socket.uncork()
  return flushed
}

/** The fields of a response with a length: without one, the client would take what follows for its body (RFC 9112 §6.3). */
function withLength(headers: readonly HeaderPair[], length: number): readonly HeaderPair[] {
  return hasField(headers, 'content-length') ? headers : [...headers, ['Content-Length', String(length)]]
}

/** What an answer's body comes from: the exchange with the shop, or a stream. */
export type Source = Pick<Exchange, 'abort' | 'pause' | 'resume'>

/**
 * Writes an answer to the socket: the shop's response, what one read of the shop's connection brought in one write, or an answer of the cache or
 * of the daemon.
 */
export class PassAnswer implements PassSink {
  source: Source | null = null
  /** 0 until the final head is written. */
  status = 0
  readonly refuse: Refuse
  readonly #connection: PassConnection
  readonly #method: string
  readonly #record: RequestRecord
  #isLast = false
  #chunked = false
  #ended = false
  /** Whether a part of the answer was written to the socket. */
  #begun = false
  /** What is written at the end of this turn. */
  #pending: Buffer[] = []

  /** @param refuse builds the answer when the shop gives none */
  constructor(connection: PassConnection, method: string, record: RequestRecord, refuse: Refuse) {
    this.#connection = connection
    this.#method = method
    this.#record = record
    this.refuse = refuse
  }

  onInterim(status: number, headers: readonly HeaderPair[]): void {
    if (this.status === 0) sendInterim(this.#connection.socket, status, headers)
  }

  onHead({ status, headers }: ResponseHead): boolean {
    this.#record.beginAnswer(headers)
    this.#writeHead(status, headers, this.#mayHaveBody(status))
    return true
  }

  onData(piece: Buffer): boolean {
    this.#record.bytes += piece.length
    const copy = Buffer.from(piece)
    for (const bytes of this.#chunked ? toChunk(copy) : [copy]) this.#write(bytes)
    return true
  }

  onEnd(): void {
    if (this.#chunked) this.#write(lastChunk)
    this.#end()
  }

  onError(error: OriginError): void {
    if (this.#begun) return void this.#connection.socket.destroy()
    // A client that gets nothing at all may repeat its request.
    this.#pending = []
    this.#record.bytes = 0
    this.respond(originErrorAnswer(error, this.refuse))
  }

  onFault(error: unknown): void {
    if (this.#ended) return
    this.#connection.onError('Could not answer a request', error)
    this.respond(plainAnswer(500, 'Internal error.'))
  }

  /** The whole request body was given to the exchange. */
  onDrain(): void {}

  /** Gives up what the visitor was waiting for. */
  abandon(): void {
    this.#ended = true
    this.source?.abort()
  }

  /**
   * Answers that are ready in one turn of the event loop are written together: the kernel then wakes a client once for several
   * (docs/decisions/0165-answers-of-a-turn-together.md). A stream may fail before its turn, and is read at once.
   *
   * @param write sends the answer
   */
  writeTogether({ body }: Answer, write: () => void): void {
    if (body !== null && typeof body !== 'string' && !Buffer.isBuffer(body)) return write()
    setImmediate(() => {
      try {
        write()
      } catch (error) {
        this.#connection.onError('Could not answer a request', error)
        this.#connection.socket.destroy()
      }
    })
  }

  /** Sends an answer of the cache. */
  respond(answer: Answer): void {
    this.#record.beginAnswer(answer.headers, answer.type)
    this.send(answer)
  }

  /** Sends an answer. */
  send({ status, headers, body }: Answer): void {
    const mayHaveBody = this.#mayHaveBody(status)
    if (this.#ended || !mayHaveBody) drop(body)
    if (this.#ended) return
    const sent = mayHaveBody ? countedBody(body, this.#record) : null
    if (sent === null || typeof sent === 'string' || Buffer.isBuffer(sent)) {
      const bytes = typeof sent === 'string' ? Buffer.from(sent) : sent
      this.#writeHead(status, mayHaveBody ? withLength(headers, bytes?.length ?? 0) : headers, false)
      if (bytes !== null) this.#write(bytes)
      return this.#end(bytes)
    }
    this.#writeHead(status, headers, true)
    this.#stream(sent)
  }

  #stream(body: Readable | StreamedBody): void {
    // The head leaves at once: the body may take its time.
    this.#flush()
    const sink = openBodySink(this.#connection, this.#chunked, () => this.onEnd())
    this.source = { abort: () => void sink.destroy(), pause: () => {}, resume: () => {} }
    stream(body, sink)
  }

  #mayHaveBody(status: number): boolean {
    return this.#method !== 'HEAD' && status !== 204 && status !== 304
  }

  /** @param streamed whether a body of unknown length may follow */
  #writeHead(status: number, headers: readonly HeaderPair[], streamed: boolean): void {
    this.status = status
    const closes = hasField(headers, 'connection')
    this.#isLast = this.#connection.isLast || closes
    this.#chunked = streamed && !hasField(headers, 'content-length')
    const fields = [...headers]
    if (this.#chunked) fields.push(['Transfer-Encoding', 'chunked'])
    if (!hasField(headers, 'date')) fields.push(['Date', formatHttpDate(Date.now())])
    if (this.#isLast && !closes) fields.push(['Connection', 'close'])
    this.#write(renderHead(status, fields))
  }

  #write(bytes: Buffer): void {
    if (this.#pending.push(bytes) === 1) process.nextTick(this.#flush)
  }

  /** @param body a body that stays in memory until a slow client has received it */
  #end(body: Buffer | null = null): void {
    this.#ended = true
    this.#flush()
    const { socket } = this.#connection
    // A small body was copied; if it is part of a slab, the slab is not in use any more.
    if (body !== null && socket.writableNeedDrain)
      holdUntilDrained(socket, body.length > mostCopied ? body : compact(body))
    this.#connection.onAnswered(this.#isLast)
  }

  readonly #flush = (): void => {
    const pending = this.#pending
    if (pending.length === 0) return
    this.#pending = []
    const { socket, stall } = this.#connection
    // The visitor has left, and `close` is on its way.
    if (!socket.writable) return
    this.#begun = true
    const flushed = writeAtOnce(socket, pending)
    if (flushed || this.#ended || socket.writableLength === 0) return
    // One read of the shop's connection waits in memory for a slow client, no more.
    this.source?.pause()
    socket.setTimeout(stall)
    socket.once('drain', () => {
      if (this.#ended) return
      socket.setTimeout(0)
      this.source?.resume()
    })
  }
}
