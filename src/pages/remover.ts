import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { faultOf } from './faults.ts'
import type { PlaceByUrl } from './page-choices.ts'
import type { PageIndex } from './page-index.ts'
import type { PageType } from './page.ts'
import type { CountedPage } from './page-writes.ts'
import type { RemoveOptions, Selection, SharedRemoval, SharedRemoved } from './page-store.ts'
import { lookAt, type Places } from './places.ts'
import { matchFor, slice, taggedChoice, urlChoice, type Choice } from './removal-choices.ts'
import type { Room } from './room.ts'
import { mark, nothingOf, takeShares } from './shared-removals.ts'
import { sharedAmongQueries } from './search-tags.ts'
import type { SharedIndex } from './shared-index.ts'

export interface RemoverOptions {
  shared: SharedIndex
  room: Room
  places: Places
  now: () => number
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
    if (shared.current === null && lookAt(places.pages) === null) return removals.map(nothingOf)
    let taken: SharedRemoved[] = []
    let logged: Selection[] = []
    await shared.write((index) =>
      index.writeDurably(() => {
        taken = index.counters.together(() => takeShares(index, removals, now()))
        logged = unionsOf(removals.slice(0, taken.length).map(({ selection }) => selection))
        for (const selection of logged) index.log.append(selection, now())
      }),
    )
    for (const selection of logged) shared.announce(selection)
    return taken
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
        if (trace !== undefined) index.traces.open([trace], now(), type)
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
        return chosen.places.reduce((sum, { pages, value }) => sum + this.#takePages(index, pages, value, options), 0)
      }
      if (slices === 0) removed += await this.#log(selection, options, null, take)
      else removed += await shared.write((index) => index.write(() => take(index)))
      if (more) await yieldToOthers()
      else if (slices > 0) await this.#log(selection, options, null, () => 0)
    }
    return removed
  }

  #takePages(index: PageIndex, pages: readonly CountedPage[], value: number, options: RemoveOptions): number {
    const taken = mark(index, pages, value, options, this.#options.now())
    if (options.soft !== true) index.writes.uncount(taken)
    options.onTaken?.(value, taken.length)
    return taken.length
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
        removed += await shared.write((index) =>
          index.write(() => this.#takePages(index, index.writes.live(found), 0, options)),
        )
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
