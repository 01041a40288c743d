import type { Readable } from 'node:stream'
import type { HeaderPair } from '../pages/page.ts'

/** A visitor's request, as the front found it valid. */
export interface Visit {
  method: string
  scheme: string
  /** Normalised; it names a channel or the answer is a 421. */
  host: string
  /** Origin-form, as it was sent. */
  target: string
  headers: readonly HeaderPair[]
  /** Address of the peer; null for our own warmup. */
  remoteAddress: string | null
  /** Addresses that trusted proxies have noted before, oldest first. */
  forwardedFor: string | null
  body: Readable | null
  /** Aborts when the visitor is gone, with `VisitorLeft` as its reason. */
  signal: AbortSignal
  /** Interim responses (1xx) on their way to the visitor. */
  onInterim(status: number, headers: readonly HeaderPair[]): void
}

/** Why an exchange with the shop was given up: its visitor has left. Nothing went wrong. */
export class VisitorLeft extends Error {
  override readonly name = 'VisitorLeft'

  constructor() {
    super('the visitor has left')
  }
}

/** A body that is read from the store while it is sent. */
export interface StreamedBody {
  /**
   * Its bytes, once; each piece is good until the next one is asked for. Fails when the stored body turns out to be altered: the
   * connection is then cut visibly.
   *
   * @param cut called when the reader takes nothing while others wait for memory
   */
  pieces(cut: () => void): AsyncIterable<Buffer>
  /** Gives back what a body holds that was never read, or is read no further. */
  discard(): void
}

/** What goes back. A `Readable` fails when the origin breaks off: the connection is then cut visibly. */
export interface Answer {
  status: number
  headers: HeaderPair[]
  body: Buffer | Readable | StreamedBody | null
  /** Tags of the page, for a cache in front of us; no visitor sees them. */
  tags?: readonly string[]
}
