import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { Assembler } from './esi/assembler.ts'
import { usability } from './freshness.ts'
import type { Lookup } from './lookup.ts'
import { newest, toHeldPage, type HeldPage } from './view.ts'

interface FinderOptions {
  store: PageStore
  memory: MemoryTier
  now: Clock
  assembler: Assembler
}

/** Finds the pages that may answer a lookup, in memory and in the store's index. */
export class PageFinder {
  readonly #options: FinderOptions

  constructor(options: FinderOptions) {
    this.#options = options
  }

  /**
   * The best page for a lookup, whatever its age, from memory or the store's index, without its body. A visitor with an
   * unconfirmed variant may read the shared page too, but not replace it.
   */
  find(lookup: Lookup): HeldPage | null {
    // Removes from memory what other processes have invalidated.
    this.#options.store.poll()
    const shared = this.#find(lookup, lookup.sharedKey)
    if (lookup.key === lookup.sharedKey || (shared !== null && usability(shared.page, this.#options.now()) === 'fresh'))
      return shared
    const own = this.#find(lookup, lookup.key)
    return own === null || (shared !== null && shared.page.cachedAt > own.page.cachedAt) ? shared : own
  }

  #find(lookup: Lookup, key: string): HeldPage | null {
    const { store, memory, now, assembler } = this.#options
    const usable = memory.get(key)?.filter((held) => assembler.mayUse(held, lookup))
    const inMemory = newest(usable ?? [], lookup, now(), (held) => held.page)
    const stored = newest(store.find(key), lookup, now(), (page) => page)
    if (stored === null || (inMemory !== null && inMemory.page.cachedAt >= stored.cachedAt)) return inMemory
    return toHeldPage(stored, {})
  }
}
