import type { KnownKeys } from './known-keys.ts'
import { hashKey } from './page-row.ts'
import type { PageReads } from './page-reads.ts'
import type { Page } from './page.ts'

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
  readonly #known: KnownKeys | null
  readonly #listeners: ((keys: readonly string[]) => void)[] = []
  /** The body files that this process has given to its writer thread, whose commits look like those of another process. */
  ownFiles: () => readonly string[] = () => []
  /** Called with each key whose pages this or another process has stored or changed. */
  onChanged: (key: string) => void = () => {}

  /** @param known gets the keys of all new pages */
  constructor(known: KnownKeys | null = null) {
    this.#known = known
  }

  restart(reads: PageReads): void {
    this.#last = reads.lastPage()
    this.#own.clear()
    reads.known = this.#known
    // It reads the keys of the pages up to the last one; `learn` and `own` add those of later pages.
    this.#known?.restart(reads)
  }

  /** Records a page that this process stored. */
  own({ id, key }: Pick<Page, 'id' | 'key'>): void {
    this.#changed(key)
    if (id === this.#last + 1) this.#last = id
    else if (id > this.#last) this.#own.add(id)
  }

  /** The keys stored by others since the last call; null when there are too many to list. `last`: the id of the newest page. */
  learn(reads: PageReads, last = reads.lastPage()): string[] | null {
    if (last <= this.#last) return []
    const stored = reads.since(this.#last, last, this.ownFiles(), mostAtOnce)
    const keys = stored.filter(({ id }) => !this.#own.has(id)).map(({ key }) => key)
    this.#last = last
    for (const id of this.#own) if (id <= last) this.#own.delete(id)
    if (stored.length < mostAtOnce) return keys
    this.#known?.forget()
    return null
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#listeners.push(listener)
  }

  /** Makes the listeners drop the pages under primary keys from memory, because there may be newer ones in the index. */
  tell(keys: readonly string[]): void {
    for (const key of keys) this.#changed(key)
    if (keys.length > 0) for (const listener of this.#listeners) listener(keys)
  }

  #changed(key: string): void {
    this.#known?.add(hashKey(key))
    this.onChanged(key)
  }
}
