import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import type { BodyFiles } from './body-files.ts'
import { isFull } from './faults.ts'
import type { PageIndex } from './page-index.ts'
import type { Selection } from './page-store.ts'
import { lookAt, type Places } from './places.ts'
import type { SharedIndex } from './shared-index.ts'

/** Pages taken, and names looked up, in one transaction of a long removal: some milliseconds. */
const slice = 1_000
/** So many bodies make room on a full disk, more where fewer were not enough. */
const roomMakers = [4, 16, 64]

export interface RemoverOptions {
  shared: SharedIndex
  bodies: BodyFiles
  places: Places
  now: () => number
}

/** Chooses the next pages to take; `more` says that others may be left. */
type Choice = (index: PageIndex, values: readonly string[]) => { ids: number[]; more: boolean }

/** Carries out an invalidation: the log entry that fences and tells, and the pages that it takes. */
export class Remover {
  readonly #options: RemoverOptions

  constructor(options: RemoverOptions) {
    this.#options = options
  }

  /**
   * Returns the exact number of live pages that were taken. On a full disk even a removal finds no room; the bodies
   * least used make some.
   * @throws PagecacheError STORE_BUSY, STORE_FULL
   */
  async remove(selection: Selection): Promise<number> {
    let failure: unknown = null
    for (const bodies of [0, ...roomMakers]) {
      const sacrificed = bodies === 0 ? [] : await this.#makeRoom(bodies)
      try {
        const removed = await this.#take(selection)
        await this.#forget(sacrificed)
        return removed
      } catch (error) {
        if (!(error instanceof PagecacheError) || !isFull(error.cause)) throw error
        failure = error
      }
    }
    throw failure
  }

  async #makeRoom(count: number): Promise<number[]> {
    const { shared, bodies } = this.#options
    const going = shared.read([], (index) => index.choices.leastUsed(count))
    await Promise.all(going.map((page) => bodies.remove(page.file)))
    return going.map((page) => page.id)
  }

  /** Where this finds no room either, each of them is found missing when it is asked for. */
  async #forget(ids: readonly number[]): Promise<void> {
    const { shared } = this.#options
    if (ids.length === 0 || shared.current === null) return
    try {
      await shared.write((index) => index.write(() => index.writes.kill(ids)))
    } catch (error) {
      if (!(error instanceof PagecacheError)) throw error
    }
  }

  async #take(selection: Selection): Promise<number> {
    const { shared, places } = this.#options
    if (shared.current === null && lookAt(places.pages) === null) return 0
    switch (selection.kind) {
      case 'all':
        return this.#takeAll()
      case 'type':
        return this.#log(selection, (index) => index.counters.clear(selection.type))
      case 'tags':
        return this.#takeSlices(selection, selection.tags, (index, tags) => index.choices.takeTagged(tags, slice))
      case 'urls':
        return this.#takeSlices(selection, selection.urls, (index, urls) => ({
          ids: index.choices.atUrls(urls),
          more: false,
        }))
    }
  }

  async #takeAll(): Promise<number> {
    const { shared } = this.#options
    const removed = await shared.write((index) => index.tombstone())
    shared.announce({ kind: 'all' })
    return removed
  }

  /** A removal's entry in the log, durable, together with what it takes. */
  async #log(selection: Selection, take: (index: PageIndex) => number): Promise<number> {
    const { shared, now } = this.#options
    const removed = await shared.write((index) =>
      index.writeDurably(() => {
        index.log.append(selection, now())
        return take(index)
      }),
    )
    shared.announce(selection)
    return removed
  }

  /**
   * Takes many pages in slices, so that visitors are served in between. The first entry in the log fences what is
   * being fetched; where there was more than one slice, a second one at the end empties memories that were filled
   * in the meantime from pages whose turn had not come.
   */
  async #takeSlices(selection: Selection, values: readonly string[], choose: Choice): Promise<number> {
    const { shared } = this.#options
    let removed = 0
    let slices = 0
    for (let first = 0; first < values.length; first += slice) {
      const some = values.slice(first, first + slice)
      for (let more = true; more; slices += 1) {
        const take = (index: PageIndex): number => {
          const chosen = choose(index, some)
          more = chosen.more
          return index.writes.kill(chosen.ids)
        }
        if (slices === 0) removed += await this.#log(selection, take)
        else removed += await shared.write((index) => index.write(() => take(index)))
        if (more) await yieldToOthers()
      }
    }
    if (slices > 1) await this.#log(selection, () => 0)
    return removed
  }
}
