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

  restart(reads: PageReads): void {
    this.#last = reads.lastPage()
    this.#own.clear()
  }

  /** Records a page that this process stored. */
  own(page: number): void {
    if (page === this.#last + 1) this.#last = page
    else if (page > this.#last) this.#own.add(page)
  }

  /** The keys stored by others since the last call; null when there are too many to list. */
  learn(reads: PageReads): string[] | null {
    const stored = reads.since(this.#last, mostAtOnce)
    if (stored.length === mostAtOnce) {
      this.restart(reads)
      return null
    }
    const keys = stored.filter(({ id }) => !this.#own.has(id)).map(({ key }) => key)
    this.#last = Math.max(this.#last, stored.at(-1)?.id ?? 0)
    for (const id of this.#own) if (id <= this.#last) this.#own.delete(id)
    return keys
  }
}
