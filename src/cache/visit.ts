import type { Readable } from 'node:stream'
import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { Memo } from '../lib/memo.ts'
import type { HeaderPair, PageType } from '../pages/page.ts'

/** A visitor's classes by the request header in which the shop gets them. */
export type VisitorClasses = ReadonlyMap<string, string>

/** The head of a visitor's request, validated by the front. */
export interface VisitHead {
  method: string
  scheme: string
  /** Normalised. A host without a channel gets a 421. */
  host: string
  /** In origin-form, as it was sent. */
  target: string
  headers: readonly HeaderPair[]
  /** Address of the peer; null for the warmup. */
  remoteAddress: string | null
  /** Whether a cache asks that gets our purges, and may therefore store what browsers must not. */
  isPurged?: boolean
  /** Addresses added by trusted proxies, oldest first. */
  forwardedFor: string | null
  /** Whether a trusted proxy has sent it. */
  isTrusted?: boolean
  /** Set once `headers` has them (`VisitorClassifier`). */
  classes?: VisitorClasses
  /** What was derived from `headers` and the connection, where further requests on it may have the same ones. */
  memo?: Memo
}

export interface Visit extends VisitHead {
  body: Readable | null
  /** Aborted with `VisitorLeft` when the visitor disconnects. */
  signal: AbortSignal
  /** Forwards interim responses (1xx) to the visitor. */
  onInterim(status: number, headers: readonly HeaderPair[]): void
}

/** The reason of an exchange that was aborted because its visitor disconnected. Not an error of the shop. */
export class VisitorLeft extends Error {
  override readonly name = 'VisitorLeft'

  constructor() {
    super('the visitor disconnected')
  }
}

/** The reason of every aborted request. Shared: creating an error with a stack costs more than some requests. */
export const visitorLeft = new VisitorLeft()

/** A body that is read from the store while it is sent. */
export interface StreamedBody {
  /**
   * Iterates over its bytes once; a piece is valid until the next one is requested. Throws when the stored body turns
   * out to be altered, which must close the connection abruptly so that the visitor notices.
   *
   * @param cut called when the reader is stalled while others wait for memory
   */
  pieces(cut: () => void): AsyncIterable<Buffer>
  /** Releases the resources of a body that was not read, or not to its end. */
  discard(): void
}

/**
 * A response to a visitor. A `Readable` body fails when the origin breaks off, which must close the connection
 * abruptly.
 */
export interface CacheAnswer {
  status: number
  headers: HeaderPair[]
  body: Buffer | Readable | StreamedBody | null
  /** Tags of the page, for a cache in front of us; never visible to visitors. */
  tags?: readonly string[]
  /** The page that it was made of; absent for a response that only this visitor may get. */
  source?: MemoryEntry
  /** Type of the page; absent where the answer is none. */
  type?: PageType
}
