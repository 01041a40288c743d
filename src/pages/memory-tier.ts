import { LRUCache } from 'lru-cache'
import type { Encoding, Page, PageType } from './page.ts'
import { variantOf } from './page-row.ts'
import type { HitCount, Selection } from './page-store.ts'

/** A page with those codings of its body that are in memory, and the hits that the store was not told of yet. */
export interface MemoryEntry {
  readonly page: Page
  readonly bodies: Partial<Record<Encoding, Buffer>>
  hits: number
  /** Milliseconds, summed over the hits. */
  hitMs: number
  usedAt: number
}

/** Keys by what an invalidation names their pages by. */
type KeysBy<Label> = Map<Label, Set<string>>

/** What an entry costs beside its bodies and texts: objects, look-up tables, prepared headers. Measured at about this. */
const entryOverhead = 2_048
/** A header, tag or variant: its strings' own heads and its places in the look-up tables. */
const itemOverhead = 96

const defaultMaxVariants = 64

/** Larger bodies are read from their files, in pieces: one of them would push hundreds of pages out. */
const largestBody = 2 ** 20
/** Nor does a body take more than this part of the tier. */
const largestPart = 1 / 8

/**
 * Bodies in memory, least recently used go first. It believes nothing by itself: whoever asks polls the store
 * before, drops what the store says was removed, and takes in nothing that the store's fence does not hold for
 * (ARCHITECTURE.md, invariant "one truth across processes").
 */
export class MemoryTier {
  readonly #entries: LRUCache<string, MemoryEntry[]>
  readonly #keysByTag: KeysBy<string> = new Map()
  readonly #keysByUrl: KeysBy<string> = new Map()
  readonly #keysByType: KeysBy<PageType> = new Map()
  readonly #maxVariants: number
  readonly #largest: number
  #dirty: MemoryEntry[] = []

  /**
   * @param maxBytes of bodies and what is held for them; 0 keeps nothing
   * @param maxVariants under one key: a look-up goes through all of them, and visitors choose how many there are
   */
  constructor(maxBytes: number, maxVariants = defaultMaxVariants) {
    this.#maxVariants = maxVariants
    this.#largest = Math.min(largestBody, maxBytes * largestPart)
    this.#entries = new LRUCache<string, MemoryEntry[]>({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: sizeOf,
      noDisposeOnSet: true,
      dispose: (entries, key) => this.#unlabel(entries, key),
    })
  }

  /** Whether a body of so many bytes belongs into memory. */
  takes(bytes: number): boolean {
    return bytes <= this.#largest
  }

  /** All variants under a primary key that are in memory, and marks them as used. Allocates nothing. */
  get(key: string): readonly MemoryEntry[] | undefined {
    return this.#entries.get(key)
  }

  /** Takes a page in, in place of the variant that it renews. What is larger than the tier is handed back all the same. */
  set(page: Page, encoding: Encoding, body: Buffer): MemoryEntry {
    const variant = variantOf(page)
    const others: MemoryEntry[] = []
    let bodies: MemoryEntry['bodies'] = {}
    for (const entry of this.#entries.peek(page.key) ?? []) {
      if (variantOf(entry.page) !== variant) others.push(entry)
      // The same page after a 304: what was encoded from its body is still right.
      else if (entry.page.id === page.id) bodies = entry.bodies
    }
    const entry = { page, bodies: { ...bodies, [encoding]: compact(body) }, hits: 0, hitMs: 0, usedAt: page.usedAt }
    if (others.length >= this.#maxVariants) others.splice(leastRecentlyUsed(others), 1)
    this.#hold(page.key, [...others, entry])
    return entry
  }

  /** Adds another coding of a page's body. Nothing happens where the page has left the memory. */
  addBody(entry: MemoryEntry, encoding: Encoding, body: Buffer): void {
    const entries = this.#entries.peek(entry.page.key)
    if (entries === undefined || !entries.includes(entry)) return
    entry.bodies[encoding] = compact(body)
    // A new list: the one that is held already would not be measured again.
    this.#hold(entry.page.key, [...entries])
  }

  #hold(key: string, entries: MemoryEntry[]): void {
    const gone = (this.#entries.peek(key) ?? []).filter((entry) => !entries.includes(entry))
    // What the others bear too is labelled again below.
    this.#unlabel(gone, key)
    this.#entries.set(key, entries)
    if (this.#entries.peek(key) === entries) this.#label(entries, key)
  }

  countHit(entry: MemoryEntry, ms: number, usedAt: number): void {
    if (entry.hits === 0) this.#dirty.push(entry)
    entry.hits += 1
    entry.hitMs += ms
    entry.usedAt = usedAt
  }

  /** The hits since the last call, also of entries that have left the memory. */
  takeHits(): HitCount[] {
    const dirty = this.#dirty
    this.#dirty = []
    return dirty.map((entry) => {
      const count = { page: entry.page, hits: entry.hits, ms: entry.hitMs, usedAt: entry.usedAt }
      entry.hits = 0
      entry.hitMs = 0
      return count
    })
  }

  /** Drops every page that an invalidation selects; with it go the other variants under its key. */
  drop(selection: Selection): void {
    switch (selection.kind) {
      case 'all':
        for (const keys of [this.#keysByTag, this.#keysByUrl, this.#keysByType]) keys.clear()
        return this.#entries.clear()
      case 'type':
        return this.#dropKeys(this.#keysByType.get(selection.type))
      case 'tags':
        return selection.tags.forEach((tag) => this.#dropKeys(this.#keysByTag.get(tag)))
      case 'urls':
        return selection.urls.forEach((url) => this.#dropKeys(this.#keysByUrl.get(url)))
      case 'matching':
        return this.drop({ kind: 'all' })
    }
  }

  /** Drops what is held under primary keys, since newer pages may be stored under them. */
  dropKeys(keys: readonly string[]): void {
    for (const key of keys) this.#entries.delete(key)
  }

  /** A key leaves the set while we walk it, which a Set allows. */
  #dropKeys(keys: ReadonlySet<string> | undefined): void {
    if (keys !== undefined) for (const key of keys) this.#entries.delete(key)
  }

  get bytes(): number {
    return this.#entries.calculatedSize
  }

  /** Pages in memory, variants counted. */
  get count(): number {
    let count = 0
    for (const entries of this.#entries.values()) count += entries.length
    return count
  }

  #label(entries: readonly MemoryEntry[], key: string): void {
    for (const { page } of entries) {
      addKey(this.#keysByType, page.type, key)
      addKey(this.#keysByUrl, page.url, key)
      for (const tag of page.tags) addKey(this.#keysByTag, tag, key)
    }
  }

  #unlabel(entries: readonly MemoryEntry[], key: string): void {
    for (const { page } of entries) {
      deleteKey(this.#keysByType, page.type, key)
      deleteKey(this.#keysByUrl, page.url, key)
      for (const tag of page.tags) deleteKey(this.#keysByTag, tag, key)
    }
  }
}

/** A body that was cut from a larger piece of memory would keep all of that. */
function compact(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const own = Buffer.allocUnsafeSlow(body.length)
  body.copy(own)
  return own
}

function leastRecentlyUsed(entries: readonly MemoryEntry[]): number {
  return entries.reduce((least, { usedAt }, index) => (usedAt < entries[least]!.usedAt ? index : least), 0)
}

function addKey<Label>(keysBy: KeysBy<Label>, label: Label, key: string): void {
  const keys = keysBy.get(label)
  if (keys === undefined) keysBy.set(label, new Set([key]))
  else keys.add(key)
}

function deleteKey<Label>(keysBy: KeysBy<Label>, label: Label, key: string): void {
  const keys = keysBy.get(label)
  if (keys?.delete(key) && keys.size === 0) keysBy.delete(label)
}

function sizeOf(entries: readonly MemoryEntry[], key: string): number {
  return entries.reduce((sum, entry) => sum + sizeOfEntry(entry), key.length)
}

function sizeOfEntry({ page, bodies }: MemoryEntry): number {
  let size = entryOverhead + page.url.length
  for (const body of Object.values(bodies)) size += body.length
  for (const tag of page.tags) size += itemOverhead + tag.length
  for (const [name, value] of page.headers) size += itemOverhead + name.length + value.length
  return size
}
