import { compact } from '../lib/buffers.ts'
import { FifoCache } from './fifo-cache.ts'
import { KeysBy } from './keys-by.ts'
import type { Assembly, MemoryEntry } from './memory-entry.ts'
import type { Encoding, Page, PageType } from './page.ts'
import { variantOf } from './page-row.ts'
import type { Selection, StoredHits } from './page-store.ts'
import { searchTagsOf } from './search-tags.ts'
import { UnwrittenHits } from './unwritten-hits.ts'

/** Bytes of an entry besides its bodies and texts (objects, lookup tables, prepared headers), as measured. */
const entryOverhead = 2_048
/** Bytes per header, tag or variant besides its text. */
const itemOverhead = 96

const defaultMaxVariants = 64

/** Larger bodies are streamed from their files: one of them would evict hundreds of pages. */
const largestBody = 2 ** 20
/** The largest part of the tier that one body may take. */
const largestPart = 1 / 8

/**
 * Bodies in memory; a crawler's pages do not displace the popular ones (docs/decisions/0078-pages-requested-once.md). The
 * tier does not check its own validity: callers poll the store before reading, drop what the store reports as removed, and
 * add only pages whose fence still holds, or that they have just found in the store (ARCHITECTURE.md, invariant "one truth across processes").
 */
export class MemoryTier {
  readonly #entries: FifoCache<MemoryEntry[]>
  readonly #keysByTag = new KeysBy<string>()
  readonly #keysByUrl = new KeysBy<string>()
  readonly #keysByType = new KeysBy<PageType>()
  /** Keys of assembled pages by the variants of their parts, by the keys of these. */
  readonly #keysByPart = new Map<string, KeysBy<string>>()
  readonly #maxVariants: number
  readonly #largest: number
  readonly #hits = new UnwrittenHits()

  /**
   * @param maxBytes size of bodies and their overhead; 0 disables the tier
   * @param maxVariants per key, since a lookup scans all of them and visitors determine their number
   */
  constructor(maxBytes: number, maxVariants = defaultMaxVariants) {
    this.#maxVariants = maxVariants
    this.#largest = Math.min(largestBody, maxBytes * largestPart)
    this.#entries = new FifoCache<MemoryEntry[]>({
      capacity: maxBytes,
      sizeOf,
      onLeave: (entries, key) => this.#unlabel(entries, key),
    })
  }

  /** Whether a body of this size is kept in memory. */
  takes(bytes: number): boolean {
    return bytes <= this.#largest
  }

  /** All variants in memory under a primary key, marked as used. Allocates nothing. */
  get(key: string): readonly MemoryEntry[] | undefined {
    return this.#entries.get(key)
  }

  /**
   * Adds a page in place of the variant that it renews. Returns an entry even for one that is not kept: too large, a template, or requested
   * once while there are enough such pages in memory.
   */
  set(page: Page, encoding: Encoding, body: Buffer, assembly?: Assembly): MemoryEntry {
    const others: MemoryEntry[] = []
    let bodies: MemoryEntry['bodies'] = {}
    const known = this.#entries.peek(page.key) ?? []
    const variant = known.length === 0 ? '' : variantOf(page)
    for (const entry of known) {
      if (variantOf(entry.page) !== variant) others.push(entry)
      // The same page after a 304: other codings of its body remain valid.
      else if (entry.page.id === page.id && assembly === undefined) bodies = entry.bodies
    }
    const entry = toEntry(page, { ...bodies, [encoding]: body }, assembly)
    if (page.fragments !== undefined && assembly === undefined) {
      if (others.length > 0) this.#hold(page.key, others)
      else this.#entries.delete(page.key)
      return entry
    }
    if (others.length >= this.#maxVariants) others.splice(leastRecentlyUsed(others), 1)
    if (this.#hold(page.key, [...others, entry])) entry.bodies[encoding] = compact(body)
    return entry
  }

  /** Adds another coding of a page's body. Does nothing if the page has left memory. */
  addBody(entry: MemoryEntry, encoding: Encoding, body: Buffer): void {
    const entries = this.#entries.peek(entry.page.key)
    if (entries === undefined || !entries.includes(entry)) return
    entry.bodies[encoding] = compact(body)
    // A new array: `#hold` compares it with the existing one.
    this.#hold(entry.page.key, [...entries])
  }

  /** Whether the entries are kept. */
  #hold(key: string, entries: MemoryEntry[]): boolean {
    const gone = (this.#entries.peek(key) ?? []).filter((entry) => !entries.includes(entry))
    // Labels shared with remaining entries are added again below.
    this.#unlabel(gone, key)
    this.#entries.set(key, entries)
    const isKept = this.#entries.peek(key) === entries
    if (isKept) this.#label(entries, key)
    return isKept
  }

  countHit(entry: MemoryEntry, ms: number, usedAt: number): void {
    this.#hits.count(entry, ms, usedAt)
  }

  /** The hits since the last call, including those of evicted entries. */
  takeHits(): StoredHits[] {
    return this.#hits.take()
  }

  /** Drops every page that an invalidation selects, together with the other variants of its key. */
  drop(selection: Selection): void {
    switch (selection.kind) {
      case 'all':
        for (const keys of [this.#keysByTag, this.#keysByUrl, this.#keysByType, this.#keysByPart]) keys.clear()
        return this.#entries.clear()
      case 'type':
        return this.#dropKeys(this.#keysByType.of(selection.type))
      case 'tags':
        return selection.tags.forEach((tag) => this.#dropKeys(this.#keysByTag.of(tag)))
      case 'urls':
        selection.urls.forEach((url) => this.#dropKeys(this.#keysByUrl.of(url)))
        return searchTagsOf(selection.urls).forEach((tag) => this.#dropKeys(this.#keysByTag.of(tag)))
      case 'matching':
        return this.drop({ kind: 'all' })
    }
  }

  /** Drops the pages under primary keys for which newer pages may be stored, and the pages made of them. */
  dropKeys(keys: readonly string[]): void {
    for (const key of keys) {
      this.#entries.delete(key)
      const made = this.#keysByPart.get(key)
      for (const variant of made?.labels() ?? []) this.#dropKeys(made!.of(variant))
    }
  }

  /** Drops the pages made of the page that a new one replaces, or of one that varies by other fields. */
  dropMadeOf(page: Page): void {
    const made = this.#keysByPart.get(page.key)
    if (made === undefined) return
    const name = variantOf(page)
    const fields = fieldsOf(name)
    for (const variant of made.labels())
      if (variant === name || fieldsOf(variant) !== fields) this.#dropKeys(made.of(variant))
  }

  #dropKeys(keys: Iterable<string>): void {
    for (const key of keys) this.#entries.delete(key)
  }

  get bytes(): number {
    return this.#entries.size
  }

  /** Number of pages in memory, counting variants. */
  get count(): number {
    let count = 0
    for (const entries of this.#entries.values()) count += entries.length
    return count
  }

  #label(entries: readonly MemoryEntry[], key: string): void {
    for (const page of labelsOf(entries)) {
      this.#keysByType.add(page.type, key)
      this.#keysByUrl.add(page.url, key)
      for (const tag of page.tags) this.#keysByTag.add(tag, key)
    }
    for (const part of partsOf(entries)) {
      const variants = this.#keysByPart.get(part.key) ?? new KeysBy<string>()
      variants.add(variantOf(part), key)
      this.#keysByPart.set(part.key, variants)
    }
  }

  #unlabel(entries: readonly MemoryEntry[], key: string): void {
    for (const page of labelsOf(entries)) {
      this.#keysByType.delete(page.type, key)
      this.#keysByUrl.delete(page.url, key)
      for (const tag of page.tags) this.#keysByTag.delete(tag, key)
    }
    for (const part of partsOf(entries)) {
      const variants = this.#keysByPart.get(part.key)
      if (variants === undefined) continue
      variants.delete(variantOf(part), key)
      if (variants.size === 0) this.#keysByPart.delete(part.key)
    }
  }
}

function toEntry(page: Page, bodies: MemoryEntry['bodies'], assembly?: Assembly): MemoryEntry {
  const entry = { page, bodies, hits: null, usedAt: page.usedAt, takesBrotli: false }
  return assembly === undefined ? entry : { ...entry, assembly }
}

/** The pages whose removal removes the entries. */
function labelsOf(entries: readonly MemoryEntry[]): Page[] {
  return entries.flatMap(({ page, assembly }) => assembly?.parts ?? [page])
}

function partsOf(entries: readonly MemoryEntry[]): Page[] {
  return entries.flatMap(({ assembly }) => assembly?.parts ?? [])
}

/** The names of the fields that a variant was chosen by. */
function fieldsOf(variant: string): string {
  const [vary] = JSON.parse(variant) as [[name: string, value: unknown][]]
  return vary.map(([name]) => name).join()
}

function leastRecentlyUsed(entries: readonly MemoryEntry[]): number {
  return entries.reduce((least, { usedAt }, index) => (usedAt < entries[least]!.usedAt ? index : least), 0)
}

function sizeOf(entries: readonly MemoryEntry[], key: string): number {
  return entries.reduce((sum, entry) => sum + sizeOfEntry(entry), key.length)
}

function sizeOfEntry({ page, bodies, assembly }: MemoryEntry): number {
  let size = entryOverhead + page.url.length
  for (const body of Object.values(bodies)) size += body.length
  for (const tag of page.tags) size += itemOverhead + tag.length
  for (const [name, value] of page.headers) size += itemOverhead + name.length + value.length
  // Their labels, and those of their tags once more.
  for (const part of assembly?.parts ?? []) size += itemOverhead * (3 + part.tags.length)
  return size
}
