import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { faultOf } from './faults.ts'
import type { PlaceByUrl } from './page-choices.ts'
import type { PageIndex } from './page-index.ts'
import type { PageType } from './page.ts'
import type { RemoveOptions, Selection, SharedRemoval, SharedRemoved } from './page-store.ts'
import { lookAt, type Places } from './places.ts'
import { matchFor, slice, taggedChoice, urlChoice, type Choice } from './removal-choices.ts'
import type { Room } from './room.ts'
import { sharedAmongQueries } from './search-tags.ts'
import type { SharedIndex } from './shared-index.ts'

/** Pages removed per shared transaction: a few milliseconds. */
const sharedPages = 1_000
/**
 * Pages that one removal takes of a shared transaction, so that a tag with a hundred thousand pages does not delay the
 * others.
 */
const pagesOfOne = 250

export interface RemoverOptions {
  shared: SharedIndex
  room: Room
  places: Places
  now: () => number
}

/** What one removal marked in a shared transaction. */
interface Share {
  pages: readonly { id: number; value: number }[]
  isSoft: boolean
  isWhole: boolean
}

/** Applies invalidations: writes the log entry that fences and notifies, and removes the pages. */
export class Remover {
  readonly #options: RemoverOptions

  constructor(options: RemoverOptions) {
    this.#options = options
  }

  /**
   * Removes pages and returns the exact number of live ones. On a full disk it first evicts the least useful pages,
   * because even a removal needs space.
   * @throws PagecacheError STORE_BUSY, STORE_FULL
   */
  async remove(selection: Selection, options: RemoveOptions = {}): Promise<number> {
    return this.#options.room.retry(() => this.#take(selection, options))
  }

  /** See `PageStore.removeTogether`. @throws PagecacheError STORE_BUSY, STORE_FULL */
  async takeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]> {
    return this.#options.room.retry(() => this.#takeTogether(removals))
  }

  async #takeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]> {
    const { shared, places, now } = this.#options
    leaveIfVanished(shared)
    if (shared.current === null && lookAt(places.pages) === null)
      return removals.map(({ selection }) => ({ counts: valuesOf(selection).map(() => 0), taken: [], isWhole: true }))
    let taken: SharedRemoved[] = []
    let logged: Selection[] = []
    await shared.write((index) =>
      index.writeDurably(() => {
        taken = index.counters.together(() => this.#takeShares(index, removals))
        logged = unionsOf(removals.slice(0, taken.length).map(({ selection }) => selection))
        for (const selection of logged) index.log.append(selection, now())
      }),
    )
    for (const selection of logged) shared.announce(selection)
    return taken
  }

  /** Removes pages for as many of the removals as one transaction allows. */
  #takeShares(index: PageIndex, removals: readonly SharedRemoval[]): SharedRemoved[] {
    const shares: Share[] = []
    for (let left = sharedPages; shares.length < removals.length && left > 0;) {
      const share = this.#takeShare(index, removals[shares.length]!, Math.min(left, pagesOfOne))
      left -= 1 + share.pages.length
      shares.push(share)
    }
    // Once for all of them, since each query costs more than what it does for a page.
    const marked = new Map(
      index.writes.marked(shares.flatMap(({ pages }) => pages.map(({ id }) => id))).map((page) => [page.id, page]),
    )
    const pagesOf = (some: readonly Share[]) =>
      some.flatMap(({ pages }) => pages.flatMap(({ id }) => marked.get(id) ?? []))
    index.writes.uncount(pagesOf(shares.filter(({ isSoft }) => !isSoft)))
    return shares.map(({ pages, isWhole }, place) => {
      const counts = valuesOf(removals[place]!.selection).map(() => 0)
      const taken = pages.flatMap(({ id, value }) => (marked.has(id) ? [{ url: marked.get(id)!.url, value }] : []))
      for (const { value } of taken) counts[value]! += 1
      return { counts, taken, isWhole }
    })
  }

  #takeShare(index: PageIndex, { selection, soft = false, trace }: SharedRemoval, most: number): Share {
    const values = valuesOf(selection)
    const { places, more } = (selection.kind === 'tags' ? taggedChoice(values, most) : urlChoice(values, most))(index)
    const pages = places.flatMap(({ ids, value }) =>
      this.#mark(index, ids, value, { soft, ...(trace !== undefined && { trace }) }).map((id) => ({ id, value })),
    )
    if (trace !== undefined && places.length > 0) index.traces.open(trace, this.#options.now(), null)
    return { pages, isSoft: soft, isWhole: !more }
  }

  async #take(selection: Selection, options: RemoveOptions): Promise<number> {
    const { shared, places } = this.#options
    leaveIfVanished(shared)
    if (shared.current === null && lookAt(places.pages) === null) return 0
    switch (selection.kind) {
      case 'all':
        return this.#takeAll(options.trace ?? null)
      case 'type':
        return this.#log(selection, options, selection.type, (index) => index.counters.clear(selection.type))
      case 'tags':
        return this.#takeSlices(selection, options, taggedChoice(selection.tags))
      case 'urls':
        return this.#takeSlices(selection, options, urlChoice(selection.urls))
      case 'matching':
        return this.#takeMatching(selection, options)
    }
  }

  async #takeAll(trace: number | null): Promise<number> {
    const { shared } = this.#options
    const removed = await shared.write((index) => index.tombstone(trace))
    shared.announce({ kind: 'all' })
    return removed
  }

  /** Writes the log entry of a removal durably, in one transaction with its first slice. */
  async #log(
    selection: Selection,
    { trace }: RemoveOptions,
    type: PageType | null,
    take: (index: PageIndex) => number,
  ): Promise<number> {
    const { shared, now } = this.#options
    const removed = await shared.write((index) =>
      index.writeDurably(() => {
        index.log.append(selection, now())
        if (trace !== undefined) index.traces.open(trace, now(), type)
        return take(index)
      }),
    )
    shared.announce(selection)
    return removed
  }

  /**
   * Removes many pages in slices, so that visitors are served in between. The first log entry fences concurrent
   * fetches. After more than one slice a second entry clears memory tiers of pages that were loaded before their slice.
   */
  async #takeSlices(selection: Selection, options: RemoveOptions, choose: Choice): Promise<number> {
    const { shared } = this.#options
    let removed = 0
    for (let more = true, slices = 0; more; slices += 1) {
      const take = (index: PageIndex): number => {
        const chosen = choose(index)
        more = chosen.more
        return chosen.places.reduce((sum, { ids, value }) => sum + this.#takePages(index, ids, value, options), 0)
      }
      if (slices === 0) removed += await this.#log(selection, options, null, take)
      else removed += await shared.write((index) => index.write(() => take(index)))
      if (more) await yieldToOthers()
      else if (slices > 0) await this.#log(selection, options, null, () => 0)
    }
    return removed
  }

  #takePages(index: PageIndex, ids: readonly number[], value: number, options: RemoveOptions): number {
    const pages = index.writes.marked(this.#mark(index, ids, value, options))
    if (options.soft !== true) index.writes.uncount(pages)
    options.onTaken?.(value, pages.length)
    return pages.length
  }

  /** Makes pages dead or stale. Returns those that were not. */
  #mark({ writes }: PageIndex, ids: readonly number[], value: number, { soft, trace }: RemoveOptions): number[] {
    const place = trace === undefined ? null : { trace, value }
    return soft === true ? writes.stalen(ids, this.#options.now(), place) : writes.bury(ids, place)
  }

  /** Scans the URLs of all current pages. Pages stored meanwhile were fetched after the fence. */
  async #takeMatching(selection: Selection & { kind: 'matching' }, options: RemoveOptions): Promise<number> {
    const { shared } = this.#options
    await this.#log(selection, options, null, () => 0)
    const last = shared.read(0, (index) => index.reads.lastPage())
    let removed = 0
    for (let after: PlaceByUrl = { url: '', keyHash: 0, id: 0 }; ;) {
      const pages = shared.read<PlaceByUrl[]>([], (index) => index.choices.byUrl(after, slice))
      if (pages.length === 0) break
      const { ids, read } = matchFor(pages, selection.matches)
      after = pages[read - 1]!
      const found = ids.filter((id) => id <= last)
      if (found.length > 0)
        removed += await shared.write((index) => index.write(() => this.#takePages(index, found, 0, options)))
      await yieldToOthers()
    }
    // A pattern may match a query that such a page answers, whatever its own.
    if (shared.read(false, (index) => index.choices.knownTags([sharedAmongQueries]).length > 0))
      removed += await this.#takeSlices(selection, options, taggedChoice([sharedAmongQueries]))
    await this.#log(selection, options, null, () => 0)
    return removed
  }
}

/** In an index whose files have vanished, a removal would be unknown to the processes that have opened the next one. */
function leaveIfVanished(shared: SharedIndex): void {
  try {
    shared.look()
  } catch (error) {
    if (faultOf(error) === null) throw error
  }
}

function valuesOf(selection: SharedRemoval['selection']): readonly string[] {
  return selection.kind === 'tags' ? selection.tags : selection.urls
}

/** Merges all tags and all URLs into one selection each: fewer log entries, and memory is invalidated once. */
function unionsOf(selections: readonly SharedRemoval['selection'][]): Selection[] {
  const tags = new Set(selections.flatMap((selection) => (selection.kind === 'tags' ? selection.tags : [])))
  const urls = new Set(selections.flatMap((selection) => (selection.kind === 'urls' ? selection.urls : [])))
  const unions: Selection[] = [
    { kind: 'tags', tags: [...tags] },
    { kind: 'urls', urls: [...urls] },
  ]
  return unions.filter((selection) => (selection.kind === 'tags' ? tags.size : urls.size) > 0)
}
