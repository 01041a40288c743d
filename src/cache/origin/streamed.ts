import type { Readable } from 'node:stream'
import type { HeaderPair } from '../../pages/page.ts'
import type { Collected } from '../body.ts'
import { visitorLeft } from '../visit.ts'
import type { Waiters } from '../waiters.ts'
import { CollectedBody, type CollectTerms } from './collected-body.ts'
import { toOriginError } from './error.ts'
import type { ResponseHead, ResponseSink } from './exchange.ts'
import type { PendingExchange } from './pending.ts'
import { ResponseBody } from './response-body.ts'

export interface StreamedResponse<Body = Readable> {
  status: number
  headers: HeaderPair[]
  body: Body
  /** Lifts the limit for the whole response: its body may come as slowly as a visitor reads it. */
  extend(): void
  /** Whether more bytes came than the response announced; known when its body has ended. */
  overlong(): boolean
}

export interface StreamedOptions {
  body: Readable | null
  signal: AbortSignal | null
  /** See `OriginRequest`. */
  waiters?: Waiters | null
  onInterim(status: number, headers: readonly HeaderPair[]): void
  /** Called with the head; null streams the body. A body that is collected comes with the end of the response. */
  collect?(head: ResponseHead): CollectTerms | null
}

/** Turns an exchange into a promise and streams. */
export class Streamed implements ResponseSink {
  readonly response: Promise<StreamedResponse<Readable | Collected>>
  readonly #options: StreamedOptions
  readonly #settle: PromiseWithResolvers<StreamedResponse<Readable | Collected>>
  readonly #onAbort = () => this.#fail(this.#options.signal!.reason)
  #exchange: PendingExchange | null = null
  #head: ResponseHead | null = null
  /** Null for a body that is streamed. */
  #collected: CollectedBody | null = null
  #body: ResponseBody | null = null
  #overlong = false

  constructor(options: StreamedOptions) {
    this.#options = options
    this.#settle = Promise.withResolvers()
    this.response = this.#settle.promise
  }

  /** Begins, unless the signal was aborted already, or all who waited have left. */
  begin(start: () => PendingExchange): Promise<StreamedResponse<Readable | Collected>> {
    const { signal, body, waiters } = this.#options
    if (signal?.aborted === true) this.#fail(signal.reason)
    else if (waiters?.isEmpty === true) this.#fail(visitorLeft)
    else {
      signal?.addEventListener('abort', this.#onAbort, { once: true })
      waiters?.watch(() => this.#exchange?.isWaiting === true && this.#fail(visitorLeft))
      try {
        this.#exchange = start()
        body
          ?.on('data', this.#onUpload)
          .on('end', this.#onUploaded)
          .on('error', this.#onFault)
          .on('close', this.#onClose)
      } catch (error) {
        this.#fail(error)
      }
    }
    return this.response
  }

  onInterim(status: number, headers: readonly HeaderPair[]): void {
    this.#options.onInterim(status, headers)
  }

  onHead(head: ResponseHead): boolean {
    this.#head = head
    try {
      const terms = this.#options.collect?.(head) ?? null
      if (terms === null) this.#resolve((this.#body = new ResponseBody(this.#exchange!)))
      else this.#collected = new CollectedBody(terms, head.length)
    } catch (error) {
      // The caller's, not that of the connection.
      this.#fail(error)
    }
    return true
  }

  #resolve(body: Readable | Collected): void {
    const { status, headers } = this.#head!
    const exchange = this.#exchange!
    this.#settle.resolve({
      status,
      headers,
      body,
      extend: () => exchange.extend(),
      overlong: () => this.#overlong,
    })
  }

  onData(piece: Buffer): boolean {
    if (this.#body !== null) return this.#body.receive(piece)
    if (this.#collected!.add(piece)) return true
    this.#body = new ResponseBody(this.#exchange!)
    this.#resolve(this.#collected!.streamed(this.#body))
    return this.#body.receive(piece)
  }

  onEnd(overlong: boolean): void {
    this.#overlong = overlong
    this.#over()
    if (this.#body === null) this.#resolve(this.#collected!.whole())
    else this.#body.finish()
  }

  onError(error: Error): void {
    this.#fail(error)
  }

  onDrain(): void {
    this.#options.body?.resume()
  }

  readonly #onUpload = (piece: Buffer) => {
    if (!this.#exchange!.write(piece)) this.#options.body!.pause()
  }
  readonly #onUploaded = () => this.#exchange!.end()
  readonly #onFault = (error: Error) => this.#fail(error)
  readonly #onClose = () => this.#options.body!.readableEnded || this.#fail(visitorLeft)

  #fail(reason: unknown): void {
    this.#over()
    const error = toOriginError(reason, this.#head !== null)
    this.#exchange?.abort()
    if (this.#body !== null) return void this.#body.destroy(error)
    this.#collected?.release()
    this.#settle.reject(error)
  }

  /** Reads no more of the visitor's body: the shop may have answered before it has read everything. */
  #over(): void {
    const { signal, body } = this.#options
    signal?.removeEventListener('abort', this.#onAbort)
    body?.off('data', this.#onUpload).off('end', this.#onUploaded).off('close', this.#onClose)
    if (body?.readableEnded === false) body.pause()
  }
}
