import type { Socket } from 'node:net'
import type { HeaderPair } from '../../pages/page.ts'
import { resetByPeer } from '../../lib/reset-is-no-end.ts'
import { openSocket, type Endpoint } from './connect.ts'
import { Deadline } from './deadline.ts'
import { OriginError, toOriginError } from './error.ts'
import type { ResponseHead } from './exchange.ts'
import { OddResponse } from './odd-response.ts'
import type { RequestHead } from './request-head.ts'
import { RequestWriter } from './request-writer.ts'
import type { PlainHead } from './response-head.ts'
import { ResponseReader, type ReadResult } from './response-reader.ts'

/** In milliseconds. */
export interface ConnectionTimeouts {
  connect: number
  headers: number
  idle: number
}

/** A request that a connection carries. */
export interface Task {
  readonly method: string
  readonly head: RequestHead
  /** The body; null when it has none, or comes in pieces. */
  readonly body: Buffer | null
  /** Latest end of the response, in terms of `performance.now`. */
  readonly expires: number
  onInterim(status: number, headers: readonly HeaderPair[]): void
  onHead(head: ResponseHead): boolean
  onData(piece: Buffer): boolean
  onDrain(): void
  /** @param overlong whether bytes that belong to no response came behind it */
  onEnd(overlong: boolean): void
  /** @param unanswered whether the shop closed the connection instead of a response, perhaps without having read the request */
  onError(error: OriginError, unanswered: boolean): void
}

/** What becomes of a connection. */
export interface ConnectionOwner {
  /** It can carry the next request. */
  onFree(connection: Connection): void
  onClosed(connection: Connection): void
}

/** The most that is read at once, in bytes: half of what Node reads, because hundreds of slow readers hold a piece each. */
const largestRead = 32 * 1024
/** The read buffer of all connections: what it holds is used up before anything else is read. */
const scratch = Buffer.allocUnsafeSlow(largestRead)
/** How long a connection is kept without a request, in milliseconds: shorter than the five seconds of most shops. */
const keptByDefault = 4000

/** A connection to the shop, which carries one request after the other. */
export class Connection {
  readonly #socket: Socket
  readonly #writer: RequestWriter
  readonly #reader = new ResponseReader(this)
  readonly #timeouts: ConnectionTimeouts
  readonly #owner: ConnectionOwner
  readonly #deadline = new Deadline(() => this.#onDeadline())
  #state: 'connecting' | 'idle' | 'waiting' | 'answering' | 'closed' = 'connecting'
  #task: Task | null = null
  /** The response, where undici reads it. */
  #odd: OddResponse | null = null
  /** Whether anything of the response has come. */
  #heard = false
  #paused = false
  #keep: number | null = 0

  constructor(endpoint: Endpoint, timeouts: ConnectionTimeouts, owner: ConnectionOwner) {
    this.#timeouts = timeouts
    this.#owner = owner
    const onread = {
      buffer: scratch,
      callback: (bytes: number) => {
        this.#onBytes(scratch.subarray(0, bytes))
        return true
      },
    }
    this.#socket = openSocket(endpoint, onread, () => this.#onConnected())
      .on('drain', () => this.#onDrain())
      .on('end', () => this.#onClosed(this.#writer.refused))
      .on('error', (error: NodeJS.ErrnoException) => this.#onClosed(error))
      .on('close', () => this.#onClosed(this.#writer.refused))
    this.#writer = new RequestWriter(this.#socket)
  }

  /** Sends a request. */
  carry(task: Task): void {
    this.#task = task
    this.#heard = false
    this.#reader.begin(task.method)
    this.#writer.begin(task.head, task.body)
    if (this.#state === 'connecting') return this.#wait(this.#timeouts.connect)
    this.#state = 'waiting'
    this.#awaitHead()
  }

  #onConnected(): void {
    this.#writer.connected()
    this.#state = 'waiting'
    this.#awaitHead()
    this.#onDrain()
  }

  /** Sends a piece of the request body; false: wait for `onDrain`. */
  write(piece: Buffer): boolean {
    const flushed = this.#writer.piece(piece)
    if (flushed === null) this.#fail(new OriginError('the request body is longer than its Content-Length', 'broken'))
    else if (this.#state === 'waiting') this.#awaitHead(!flushed)
    return flushed ?? true
  }

  /** Ends the request body. */
  end(): void {
    if (!this.#writer.end()) this.#fail(new OriginError('the request body is incomplete', 'broken'))
    else if (this.#state === 'waiting') this.#awaitHead()
  }

  #onDrain(): void {
    if (this.#task === null || this.#writer.done) return
    if (this.#state === 'waiting') this.#awaitHead()
    this.#task.onDrain()
  }

  /** @param blocked whether the shop reads the body too slowly. While the body is still to come, the shop has time. */
  #awaitHead(blocked = false): void {
    this.#wait(this.#writer.done || this.#writer.refused !== null || blocked ? this.#timeouts.headers : Infinity)
  }

  pause(): void {
    if (this.#state !== 'answering' || this.#paused) return
    this.#paused = true
    // The shop has time until the visitor reads on.
    this.#wait(Infinity)
    if (this.#odd === null) this.#socket.pause()
    else this.#odd.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#wait(this.#timeouts.idle)
    if (this.#odd !== null) return this.#odd.resume()
    if (this.#reader.held) this.#proceed(this.#reader.resume())
    // Also where that was the end of the response: the next request is carried on the same socket.
    if (!this.#paused && this.#state !== 'closed') this.#socket.resume()
  }

  /** Lifts the limit for the whole response. */
  extend(): void {
    if (this.#state === 'answering') this.#wait(this.#paused ? Infinity : this.#timeouts.idle)
  }

  destroy(): void {
    this.#task = null
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#deadline.close()
    this.#odd?.close()
    this.#socket.destroy()
    this.#owner.onClosed(this)
  }

  /** Ends the connection; a request on it fails. */
  cut(): void {
    if (this.#task === null) this.destroy()
    else this.#fail(new OriginError('the client was closed', 'unreachable'))
  }

  #onBytes(bytes: Buffer): void {
    // What comes without a request belongs to no response: the next one on this connection could be forged.
    if (this.#task === null) return this.destroy()
    this.#heard = true
    if (this.#odd !== null) return this.#odd.feed(bytes)
    if (this.#state === 'answering') this.#wait(this.#timeouts.idle)
    this.#proceed(this.#reader.read(bytes))
  }

  #proceed(progress: ReadResult): void {
    if (this.#task === null) return
    if (progress === 'end') this.#finish()
    else if (progress === 'odd') this.#leaveToUndici()
    else if (progress === 'broken') this.#fail(new OriginError('the response is not valid HTTP', 'broken'))
  }

  // The reader's events.

  onInterim({ status, headers }: Pick<PlainHead, 'status' | 'headers'>): void {
    this.#wait(this.#timeouts.headers)
    if (status !== 100) this.#task?.onInterim(status, headers)
  }

  /** False holds the body back. */
  onHead({ status, headers, framing, keep }: PlainHead): boolean {
    this.#keep = keep
    return this.#begin({ status, headers, length: framing === 'chunked' ? null : framing })
  }

  onData(piece: Buffer): void {
    if (this.#task?.onData(piece) === false) this.pause()
  }

  #begin(head: ResponseHead): boolean {
    this.#state = 'answering'
    this.#wait(this.#timeouts.idle)
    if (this.#task === null || this.#task.onHead(head)) return true
    this.pause()
    return false
  }

  #leaveToUndici(): void {
    const task = this.#task!
    this.#keep = 0
    this.#odd = new OddResponse(
      {
        method: task.method,
        bytes: this.#reader.rest,
        atHead: this.#reader.atHead,
        // The deadline of this connection holds too.
        timeouts: this.#timeouts,
      },
      {
        onInterim: (status, headers) => this.onInterim({ status, headers }),
        onHead: (head) => this.#begin(head),
        onData: (piece) => {
          this.#wait(this.#timeouts.idle)
          return task.onData(piece) || (this.pause(), false)
        },
        onEnd: () => this.#finish(),
        onError: (error) => this.#fail(toOriginError(error, true) as OriginError),
        flow: (on) => (on ? this.#socket.resume() : this.#socket.pause()),
      },
    )
  }

  #finish(): void {
    const task = this.#task!
    const paused = this.#paused
    this.#task = null
    this.#paused = false
    const keep = this.#keep ?? keptByDefault
    // A shop that answers before it has read the whole request would read the next one as its rest.
    const overlong = this.#odd === null && this.#reader.rest.length > 0
    const unsent = !this.#writer.done || this.#writer.refused !== null
    if (keep === 0 || unsent || overlong || this.#odd !== null) this.destroy()
    else {
      this.#state = 'idle'
      this.#wait(keep)
      if (paused) this.#socket.resume()
      this.#owner.onFree(this)
    }
    task.onEnd(overlong)
  }

  #wait(ms: number): void {
    this.#deadline.set(Math.min(performance.now() + ms, this.#task?.expires ?? Infinity))
  }

  #onDeadline(): void {
    if (this.#task === null) return this.destroy()
    this.#fail(new OriginError(this.#lateness(this.#task), 'timeout'))
  }

  #lateness(task: Task): string {
    if (performance.now() >= task.expires) return 'the origin exceeded the total timeout'
    if (this.#state === 'connecting') return 'the origin exceeded the connect timeout'
    return this.#state === 'waiting'
      ? 'the origin exceeded the headers timeout'
      : 'the origin exceeded the idle timeout'
  }

  #onClosed(error: NodeJS.ErrnoException | null): void {
    if (this.#state === 'closed') return
    if (this.#task === null) return this.destroy()
    // A body that only the end of the connection ends does not end with a reset.
    if (error?.code === 'ECONNRESET') error.code = resetByPeer
    if (this.#odd !== null) return this.#odd.end(error)
    const cause = error ?? new Error('the origin closed the connection')
    const closed = error === null || error.code === resetByPeer || error.code === 'EPIPE'
    this.#fail(toOriginError(cause, this.#heard) as OriginError, closed && !this.#heard && this.#state === 'waiting')
  }

  #fail(error: OriginError, unanswered = false): void {
    const task = this.#task
    this.destroy()
    task?.onError(error, unanswered)
  }
}
