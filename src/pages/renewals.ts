import type { PageReads } from './page-reads.ts'

/** With more new pages than this between two polls, all of memory is dropped instead. */
const mostAtOnce = 2_000

/**
 * Finds the keys under which other processes have stored pages. Page ids increase by one, whichever process stores a
 * page.
 */
export class Renewals {
  /** The last id up to which all pages are known. */
  #last = 0
  /** Ids beyond `#last` that this process stored. */
  readonly #own = new Set<number>()
  readonly #listeners: ((keys: readonly string[]) => void)[] = []
  /** The body files that this process has given to its writer thread, whose commits look like those of another process. */
  ownFiles: () => readonly string[] = () => []

  restart(reads: PageReads): void {
    this.#last = reads.lastPage()
    this.#own.clear()
  }

  /** Records a page that this process stored. */
  own(page: number): void {
    if (page === this.#last + 1) this.#last = page
    else if (page > this.#last) this.#own.add(page)
  }

  /** The keys stored by others since the last call; null when there are too many to list. `last`: the id of the newest page. */
  learn(reads: PageReads, last = reads.lastPage()): string[] | null {
    if (last <= this.#last) return []
    const stored = reads.since(this.#last, last, this.ownFiles(), mostAtOnce)
    const keys = stored.filter(({ id }) => !this.#own.has(id)).map(({ key }) => key)
    this.#last = last
    for (const id of this.#own) if (id <= last) this.#own.delete(id)
    return stored.length < mostAtOnce ? keys : null
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#listeners.push(listener)
  }

  /** Makes the listeners drop the pages under primary keys from memory. */
  tell(keys: readonly string[]): void {
    if (keys.length > 0) for (const listener of this.#listeners) listener(keys)
  }
}
