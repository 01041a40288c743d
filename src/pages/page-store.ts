import type { PagecacheError } from '../errors.ts'
import type { Page, PageDraft, PageType } from './page.ts'

/** Which pages an invalidation is about. URLs are canonical and absolute and mean every variant. */
export type Selection =
  | { kind: 'all' }
  | { kind: 'type'; type: PageType }
  | { kind: 'tags'; tags: readonly string[] }
  | { kind: 'urls'; urls: readonly string[] }
  /** Pages whose URLs match: for `remove` alone. To listeners and fences it is a removal that any page may belong to. */
  | { kind: 'matching'; matches(url: string): boolean }

/**
 * The moment at which a fetch began. A page that an invalidation selected after that moment is not
 * stored (ARCHITECTURE.md, invariant "a purge fences").
 */
export interface Fence {
  readonly generation: string
  readonly sequence: number
}

export interface RemoveOptions {
  /** Marks the pages as stale from now on, and removes none; not for `all`, `type` and `matching`. */
  soft?: boolean
  /** Keeps the URLs of what goes until `release`, for at most an hour; any number that no other removal has. */
  trace?: number
  /** Told, slice by slice, how many pages went by which of the selection's tags or URLs. */
  onTaken?(value: number, pages: number): void
}

/** A small removal that shares a transaction with others. */
export interface SharedRemoval extends Pick<RemoveOptions, 'soft' | 'trace'> {
  selection: Extract<Selection, { kind: 'tags' | 'urls' }>
}

/** What a small removal took. */
export interface SharedRemoved {
  /** Pages that went, by each of the selection's tags or URLs. */
  counts: number[]
  /** False where it selects more pages than fit: `remove` takes the rest. */
  isWhole: boolean
}

/** Another thread with a store on the same directory. */
export interface RemovalWorker {
  remove(removal: Omit<SharedRemoval, 'trace'>): Promise<number>
  cleanUp(): void
}

/** A page that a traced removal took. */
export interface Taken {
  id: number
  url: string
  value: number
}

export interface TypeCounters {
  count: number
  originalSize: number
  size: number
  generationMs: number
  hits: number
  hitMs: number
}

export interface PageFilter {
  type?: PageType
  tag?: string
  urlPrefix?: string
  limit: number
  offset: number
}

/** A stored body that is read in pieces of `pieceSize` bytes, also after its page has gone. To be closed. */
export interface OpenBody {
  /** Bytes. */
  readonly size: number
  /**
   * Reads a piece, counted from 0, to the beginning of a buffer and returns the part of the buffer that it takes.
   * @throws where it is altered, which drops the page, or cannot be read
   */
  read(piece: number, into: Buffer): Promise<Buffer>
  close(): Promise<void>
}

/** How a hit is told to the store; gathered in memory and handed over in batches. */
export interface HitCount {
  page: Page
  hits: number
  /** Milliseconds, summed over the hits. */
  ms: number
  usedAt: number
}

/**
 * Where pages live. Everything in it is disposable; it repairs itself and never hands out a wrong page.
 * All processes on one store agree: whoever asks sees what was removed anywhere before.
 */
export interface PageStore {
  /**
   * Takes notice of what other processes removed and tells the listeners. Costs about a microsecond
   * when nothing happened: called before each use of a memory tier.
   */
  poll(): void
  /** Why nothing can be read now, as an error for an operator (STORE_BUSY, STORE_FULL); null while it can. Visitors pass by meanwhile. */
  fault(): PagecacheError | null
  /** Called (synchronously, before `remove` or `poll` returns) for each removal by any process. */
  onRemoved(listener: (selection: Selection) => void): void
  /** Called with the primary keys under which another process has stored a page: what memory holds under them may be older. */
  onRenewed(listener: (keys: readonly string[]) => void): void
  fence(): Fence
  /** False when an invalidation, whichever, came after the fence. */
  holds(fence: Fence): boolean
  /** All live variants under a primary key, newest first. The stored key is compared in full. */
  find(key: string): Page[]
  /** All live variants of a canonical URL, for an operator's question. */
  findByUrl(url: string): Page[]
  /** The body as stored, verified; null (and the page gone, counted as damaged) when it is missing or altered. */
  readBody(page: Page): Promise<Buffer | null>
  /** The body as stored, to be read in pieces; null as for `readBody`. */
  openBody(page: Page): Promise<OpenBody | null>
  /**
   * Stores a page in place of the variant with the same key, `vary` and `range`. Null where the fence no longer
   * holds for this page, or where the store cannot take it (disk full, read-only): the visitor is served either way.
   */
  put(draft: PageDraft, body: Buffer, fence: Fence): Promise<Page | null>
  /** Replaces the headers and times of a page after a 304; the body stays. Null as for `put`, or when the page is gone. */
  freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | null>
  /** Removes pages and fences what is being fetched; resolves to the exact number of pages (files) removed. */
  remove(selection: Selection, options?: RemoveOptions): Promise<number>
  /**
   * Carries out the first of several small removals in one durable transaction, as many as take a few milliseconds and at least one.
   * Resolves to what those took, in their order; the caller goes on with the others.
   */
  removeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]>
  /** From now on a worker of this process does what waits for the disk: plain removals, and cleaning up. Null: it is done here again. */
  handOver(worker: RemovalWorker | null): void
  /** Cleans up, in the background, after pages that are gone. */
  cleanUp(): void
  /**
   * The URLs of pages that a traced removal took, the next ones after a page's number; none: those were all. `value`: by which of the
   * selection's tags or URLs, counted from 0.
   */
  taken(trace: number, after: number, limit: number): Promise<Taken[]>
  /** The URLs of traced removals were read: what they took may be cleaned away. */
  release(traces: readonly number[]): Promise<void>
  /** Counts what `remove` would take. */
  count(selection: Selection): Promise<number>
  recordHits(hits: readonly HitCount[]): void
  /** O(1): read from counters that are kept with each change. */
  counters(): Record<PageType, TypeCounters>
  list(filter: PageFilter): { total: number; items: Page[] }
  /** Bodies found missing or altered since the process started. */
  damaged(): number
  /** Pages that were not stored since the process started, for want of room, rights or a turn to write. */
  unstored(): number
  /** Drops pages past any use, bodies without a row, and what a clear left behind. */
  sweep(): Promise<{ expired: number; orphans: number }>
  close(): Promise<void>
}
