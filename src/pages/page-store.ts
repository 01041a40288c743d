import type { PagecacheError } from '../errors.ts'
import type { Eviction } from './evictions.ts'
import type { Page, PageDraft, PageType } from './page.ts'
import type { Spool } from './spool.ts'

/** The pages that an invalidation selects. URLs are canonical and absolute and select every variant. */
export type Selection =
  | { kind: 'all' }
  | { kind: 'type'; type: PageType }
  | { kind: 'tags'; tags: readonly string[] }
  | { kind: 'urls'; urls: readonly string[] }
  /** Pages whose URLs match, for `remove` only. Listeners and fences treat it as a removal of any page. */
  | { kind: 'matching'; matches(url: string): boolean }

/**
 * The point in time when a fetch began. A page selected by a later invalidation is not stored (ARCHITECTURE.md,
 * invariant "a purge fences").
 */
export interface Fence {
  readonly generation: string
  readonly sequence: number
}

/** A page to be stored. `file`: the name of its body file (`newBodyFile`), which small bodies of a group may share. */
export interface NewPage {
  draft: PageDraft
  body: Buffer
  fence: Fence
  file: string
}

/** What the index needs to know of a page to insert it; of the rest it only keeps the JSON. */
export type PageHead = Pick<
  PageDraft,
  'key' | 'url' | 'type' | 'tags' | 'cachedAt' | 'deleteAt' | 'originalSize' | 'generationMs'
>

/** A page to be stored, as the writer thread gets it. `record`: the JSON of its draft (`toRecord`), which only a renewal decodes. */
export interface PreparedPage extends Omit<NewPage, 'draft'> {
  head: PageHead
  record: Buffer
}

/** What the store adds to a page that it has stored. */
export type Stored = Pick<Page, 'id' | 'size' | 'hits' | 'hitMs' | 'usedAt'>

/**
 * Why a page was not stored. `invalidated`: an invalidation since the fence selects it. `unavailable`: the store has no room, no
 * permission or no turn to write. `behind`: too many pages wait to be stored. `removed`: the page to be renewed no longer exists.
 */
export type Rejection = 'invalidated' | 'unavailable' | 'behind' | 'removed'

export interface RemoveOptions {
  /** Marks the pages as stale instead of removing them; not for `all`, `type` and `matching`. */
  soft?: boolean
  /** Keeps the URLs of the removed pages until `release`. A number unique to this removal. */
  trace?: number
  /** Reports, slice by slice, how many pages a tag or URL of the selection (by index) removed. */
  onTaken?(value: number, pages: number): void
}

/** A small removal that shares a transaction with others. */
export interface SharedRemoval extends Pick<RemoveOptions, 'soft' | 'trace'> {
  selection: Extract<Selection, { kind: 'tags' | 'urls' }>
}

/** The result of a small removal. */
export interface SharedRemoved {
  /** The URLs of the pages that each tag or URL of the selection has removed. */
  urls: string[][]
  /** False when the selection has more pages than fit; `remove` takes the rest. */
  isWhole: boolean
}

/** Another thread with a store on the same directory. */
export interface RemovalWorker {
  remove(removal: Omit<SharedRemoval, 'trace'>): Promise<number>
  cleanUp(): void
}

/** A page that a traced removal removed. `value`: index of the tag or URL that selected it. */
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

/** The order of a list of pages; with `-` descending. */
export const pageSorts = ['url', '-url', 'stored', '-stored', 'hits', '-hits', 'size', '-size'] as const
export type PageSort = (typeof pageSorts)[number]

export interface PageFilter {
  type?: PageType
  tag?: string
  urlPrefix?: string
  /** Default: by URL with a prefix, otherwise the newest first. */
  sort?: PageSort
  limit: number
  offset: number
}

/** A page with its body in the coding in which it is stored. */
export interface PageBytes {
  page: Page
  body: Buffer
}

/** A stored body read in pieces of `pieceSize` bytes, even after its page is removed. Must be closed. */
export interface OpenBody {
  /** Size in bytes. */
  readonly size: number
  /**
   * Reads a piece, counted from 0, into the start of a buffer. Returns the part of the buffer that holds the piece.
   * @throws when the body is altered (which removes the page) or unreadable
   */
  read(piece: number, into: Buffer): Promise<Buffer>
  close(): Promise<void>
}

/** The hits of a page, collected in memory and written in batches. */
export interface StoredHits {
  /** The id alone where the page is not to be compressed again. */
  page: Page | Pick<Page, 'id'>
  hits: number
  /** Sum of the hit times, in milliseconds. */
  ms: number
  usedAt: number
  /** Whether visitors would get fewer bytes if the page were compressed thoroughly. */
  recode?: boolean
}

/**
 * The store of pages. Its content is disposable; it repairs itself and never returns a wrong page. All processes on one
 * store agree: every read reflects removals by any process.
 */
export interface PageStore {
  /** Limit of all bodies in bytes. */
  readonly maxSize: number
  /**
   * Picks up removals by other processes and notifies the listeners. Takes a few microseconds when there are none.
   * Call it before each use of a memory tier.
   */
  poll(): void
  /**
   * Reads what the store holds now, without a poll in this callback of the event loop. For a request that had begun to arrive before a poll
   * in this turn (docs/decisions/0171-poll-of-a-turn.md).
   */
  asOfTurn<T>(read: () => T): T
  /**
   * Why nothing is readable now, as an error for operators (STORE_BUSY, STORE_FULL); null while it is. Visitors bypass
   * the cache meanwhile.
   */
  fault(): PagecacheError | null
  /** Called for each removal by any process, synchronously before `remove` or `poll` returns. */
  onRemoved(listener: (selection: Selection) => void): void
  /** Called with the primary keys under which another process has stored pages: memory may hold older ones. */
  onRenewed(listener: (keys: readonly string[]) => void): void
  fence(): Fence
  /** False when any invalidation came after the fence. */
  holds(fence: Fence): boolean
  /** The same without a poll, for a page that is not served before the next one: that drops it if an invalidation selects it. */
  heldAtLastPoll(fence: Fence): boolean
  /** All live variants under a primary key, newest first. Keys are compared in full, not by hash. */
  find(key: string): Page[]
  /** All live variants of a canonical URL, for operators. */
  findByUrl(url: string): Page[]
  /** Why and when the store itself last removed a page at a canonical URL; null if it is not known to have done so. */
  evictionOf(url: string): Eviction | null
  /** The stored body, verified. When it is missing or altered: null, and the page is removed and counted as damaged. */
  readBody(page: Page): Promise<Buffer | null>
  /**
   * The page that `choose` takes of those under a key, newest first, with its body as by `readBodyNow`; null where it takes none. Pages
   * that are read often are remembered, so that most reads need no query. The next call overwrites the body.
   */
  readPage(key: string, choose: (pages: readonly Page[]) => Page | null): PageBytes | null
  /**
   * The stored body, verified, if it is small and the disk is fast enough to block the event loop for it. Null otherwise,
   * and when `readBody` would return null.
   */
  readBodyNow(page: Page): Buffer | null
  /** The stored body, for reading in pieces; null as for `readBody`. */
  openBody(page: Page): Promise<OpenBody | null>
  /** A nameless temporary file for a body, to be closed; null when there is no space. */
  openSpool(): Promise<Spool | null>
  /**
   * Announces work that will `put` a page, and resolves to its result. Pages that are announced at the same time are stored together, if
   * they come within a few milliseconds of each other.
   */
  announce<Result>(work: Promise<Result>): Promise<Result>
  /**
   * Stores a page, replacing the variant with the same key, `vary` and `range`. A visitor is served either way.
   * `patient` (the default): is never `behind`, because the caller limits how many pages it stores at a time.
   */
  put(draft: PageDraft, body: Buffer, fence: Fence, patient?: boolean): Promise<Page | Rejection>
  /**
   * Like `put`, but in a process with a writer thread (`FilesystemStoreOptions.writer`) the page is found from now on
   * and stored in the background. Its id is negative until then.
   */
  take(draft: PageDraft, body: Buffer, fence: Fence): Promise<Page | Rejection>
  /** Stores pages in one transaction. Resolves to what `put` would, in order. */
  writeTogether(pages: readonly NewPage[]): Promise<(Page | Rejection)[]>
  /** Like `writeTogether`, for pages whose drafts another thread has. */
  writePrepared(pages: readonly PreparedPage[]): Promise<(Stored | Rejection)[]>
  /** Resolves when a page, or every page that an invalidation selects, no longer waits to be stored. */
  settled(which: Page | Selection): Promise<void>
  /** The pages that wait to be stored, and the bytes that they take. */
  waiting(): { pages: number; bytes: number }
  /** Compresses a stored page thoroughly; null when it was removed or nothing is saved. The new page replaces it. */
  recode(page: Page): Promise<Page | null>
  /** Replaces the headers and times of a page after a 304. */
  freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | Rejection>
  /** Removes pages and fences concurrent fetches. Resolves to the exact number of pages (files) removed. */
  remove(selection: Selection, options?: RemoveOptions): Promise<number>
  /**
   * Applies the first of several small removals in one durable transaction: as many as take a few milliseconds, at
   * least one. Resolves to their results in order; the caller continues with the rest.
   */
  removeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]>
  /** Delegates disk-bound work (plain removals and clean-up) to a worker of this process; null takes it back. */
  handOver(worker: RemovalWorker | null): void
  /** Cleans up after removed pages, in the background. */
  cleanUp(): void
  /** The next pages of a traced removal after a page id, even after a clear; empty at the end, null while they cannot be read. */
  taken(trace: number, after: number, limit: number): Promise<Taken[] | null>
  /** Ends traced removals whose URLs were read, so that their pages can be cleaned up. */
  release(traces: readonly number[]): Promise<void>
  /** The traces of removals by any process that are not released. @param before milliseconds since the epoch: those opened earlier */
  unreleased(before: number): number[]
  /** The URLs of the next pages with a tag after a page id, in order of ids. */
  tagged(tag: string, after: number, limit: number): { id: number; url: string }[]
  /** Hits of canonical URLs, summed over their variants. */
  hitsOf(urls: readonly string[]): number[]
  /** Counts the pages that `remove` would remove. */
  count(selection: Selection): Promise<number>
  /** Adds hits in the background, and compresses pages thoroughly where that saves bytes. */
  recordHits(hits: readonly StoredHits[]): void
  /** O(1): reads counters that are maintained with each change. */
  counters(): Record<PageType, TypeCounters>
  /** Bytes of removed pages whose bodies are still on the disk. O(1) as well. */
  deadSize(): number
  /** The shop's tags of stored pages that begin with a text, in order. */
  tags(beginning: string, limit: number): string[]
  list(filter: PageFilter): { total: number; items: Page[] }
  /** Bodies found missing or altered since the process started. */
  damaged(): number
  /** Pages not stored since the process started, for lack of space, permission or a turn to write. */
  unstored(): number
  /** Removes expired pages, orphaned bodies, and the remains of a clear. */
  sweep(): Promise<{ expired: number; orphans: number }>
  close(): Promise<void>
}
