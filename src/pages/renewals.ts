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
  /** Whether this process has given a body file to its writer thread, whose commits look like those of another process. */
  isOwnFile: (file: string) => boolean = () => false

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
    const keys = stored.filter(({ id, file }) => !this.#own.has(id) && !this.isOwnFile(file)).map(({ key }) => key)
    this.#last = Math.max(this.#last, stored.at(-1)?.id ?? 0)
    for (const id of this.#own) if (id <= this.#last) this.#own.delete(id)
    return keys
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#listeners.push(listener)
  }

  /** Makes the listeners drop the pages under primary keys from memory. */
  tell(keys: readonly string[]): void {
    if (keys.length > 0) for (const listener of this.#listeners) listener(keys)
  }
}
