import { Duplex } from 'node:stream'
import type { Client, Dispatcher } from 'undici'
import type { HeaderPair } from '../../pages/page.ts'
import { fieldValue, trimBlanks } from '../fields.ts'
import { OriginError } from './error.ts'
import type { ResponseHead } from './exchange.ts'
import { largestHead, mostInterims } from './response-reader.ts'

export interface OddResponseOptions {
  method: string
  /** What has come of the response. */
  bytes: Buffer
  /** False: `bytes` begin with a chunk line, and the head was reported. */
  atHead: boolean
  /** In milliseconds. */
  timeouts: { headers: number; idle: number }
}

/** Receives the response. */
interface OddEvents {
  onInterim(status: number, headers: HeaderPair[]): void
  onHead(head: ResponseHead): boolean
  onData(piece: Buffer): boolean
  onEnd(): void
  onError(error: unknown): void
  /** Reads the connection on, or no further. */
  flow(on: boolean): void
}

/**
 * Has undici read a response that is not plain: the bytes that have come and those that follow, as if they came on a
 * connection of its own, and without sending the request again.
 */
export class OddResponse {
  readonly #events: OddEvents
  readonly #connection: Replay
  #controller: Dispatcher.DispatchController | null = null
  #client: Client | null = null
  #answering: boolean
  #interims = 0
  #ended = false
  #over = false

  constructor(options: OddResponseOptions, events: OddEvents) {
    this.#events = events
    this.#answering = !options.atHead
    const head = options.atHead ? [] : [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')]
    this.#connection = new Replay([...head, options.bytes], (on) => events.flow(on))
    this.#read(options).catch((error: unknown) => this.#fail(error))
  }

  /** Takes bytes of the connection, which may be changed afterwards. */
  feed(bytes: Buffer): void {
    if (!this.#connection.feed(Buffer.from(bytes))) this.#events.flow(false)
  }

  /** Notes that the connection has ended. */
  end(error: Error | null): void {
    if (this.#ended) return
    this.#ended = true
    if (error === null) this.#connection.feed(null)
    else this.#connection.destroy(error)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  close(): void {
    this.#over = true
    this.#client?.destroy().catch(() => {})
    this.#connection.destroy()
  }

  async #read({ method, atHead, timeouts }: OddResponseOptions): Promise<void> {
    const { Client: UndiciClient } = await import('undici')
    if (this.#over) return
    this.#client = new UndiciClient('http://shop', {
      maxHeaderSize: largestHead,
      headersTimeout: timeouts.headers,
      bodyTimeout: timeouts.idle,
      // undici does not expect a connection before it has asked for one.
      connect: (_, callback) => process.nextTick(callback, null, this.#connection as never),
    })
    this.#client.dispatch({ path: '/', method: (atHead ? method : 'GET') as Dispatcher.HttpMethod }, this.#handler)
  }

  get #handler(): Dispatcher.DispatchHandler {
    const events = this.#events
    return {
      onRequestStart: () => {},
      onResponseStart: (controller, status) => {
        this.#controller = controller
        if (this.#over || (status >= 200 && this.#answering)) return
        if (!this.#onHead(status, rawPairs(controller.rawHeaders as Buffer[]))) controller.pause()
      },
      onResponseData: (controller, piece) => {
        // The parser reports an empty piece when it resumes.
        if (piece.length > 0 && !this.#over && !events.onData(piece)) controller.pause()
      },
      onResponseEnd: () => this.#over || events.onEnd(),
      onResponseError: (_, error) => this.#fail(error),
    }
  }

  /** False holds the body back. */
  #onHead(status: number, headers: HeaderPair[]): boolean {
    const coding = fieldValue(headers, 'transfer-encoding')
    // undici takes any three digits, and undoes no coding but chunked.
    if (status < 100 || status > 599) this.#refuse(`invalid status ${status}`)
    else if (status >= 200 && coding !== null && trimBlanks(coding).toLowerCase() !== 'chunked')
      this.#refuse(`unsupported Transfer-Encoding ${coding}`)
    else if (status >= 200) {
      this.#answering = true
      return this.#events.onHead({ status, headers, length: lengthOf(headers) })
    } else if (++this.#interims > mostInterims) this.#refuse('too many interim responses')
    else this.#events.onInterim(status, headers)
    return true
  }

  #refuse(reason: string): void {
    this.#fail(new OriginError(reason, 'broken'))
  }

  #fail(error: unknown): void {
    if (!this.#over) this.#events.onError(error)
  }
}

/** A connection on which nothing is sent, and what has come on another one comes. */
class Replay extends Duplex {
  /** What waits until undici has sent its request; null from then on. */
  #early: (Buffer | null)[] | null
  readonly #flow: (on: boolean) => void

  constructor(bytes: Buffer[], flow: (on: boolean) => void) {
    super({ highWaterMark: 16 * 1024 })
    this.#early = bytes
    this.#flow = flow
    this.on('error', () => {})
  }

  /** Takes bytes, or the end; false when no more should come for now. */
  feed(bytes: Buffer | null): boolean {
    if (this.#early === null) return this.push(bytes)
    this.#early.push(bytes)
    return false
  }

  /** undici takes no response before it has sent its request, and has left the function that sends it. */
  override _write(_: Buffer, __: string, done: () => void): void {
    done()
    setImmediate(() => {
      const early = this.#early ?? []
      this.#early = null
      for (const bytes of early) this.push(bytes)
      this.#flow(true)
    })
  }

  override _read(): void {
    if (this.#early === null) this.#flow(true)
  }

  ref(): void {}
  unref(): void {}
}

/** Decodes header values as Latin-1, so that bytes outside ASCII pass unchanged. */
function rawPairs(raw: readonly Buffer[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([raw[index]!.toString(), raw[index + 1]!.toString('latin1')])
  return pairs
}

function lengthOf(headers: readonly HeaderPair[]): number | null {
  const lines = headers.filter(([name]) => name.toLowerCase() === 'content-length')
  return lines.length === 1 && /^\d{1,15}$/.test(lines[0]![1]) ? Number(lines[0]![1]) : null
}
