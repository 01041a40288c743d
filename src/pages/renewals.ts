import type { PageReads } from './page-reads.ts'

/** More pages of other processes than this between two looks are not gone through one by one. */
const mostAtOnce = 2_000

/** Finds out under which keys other processes have stored pages: numbers of pages go up one by one, whoever stores them. */
export class Renewals {
  /** Up to here everything is known. */
  #last = 0
  /** Pages of our own beyond it. */
  readonly #own = new Set<number>()

  restart(reads: PageReads): void {
    this.#last = reads.lastPage()
    this.#own.clear()
  }

  /** Notes a page that this process has stored. */
  own(page: number): void {
    if (page === this.#last + 1) this.#last = page
    else if (page > this.#last) this.#own.add(page)
  }

  /** The keys since the last call; null for so many that nothing can be believed. */
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
