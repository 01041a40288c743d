import type { Purgeable, PurgeClock, PurgeTime } from './clock.ts'
import { historyOf, readClocks, type Lease } from './lease.ts'
import type { Ledger } from './ledger.ts'
import { readLimit } from './protocol.ts'
import { namesIn, namesOf } from './removal.ts'
import { Patience } from './shared/patience.ts'

/** How many of the latest purges the first read loads. A page fetched before the oldest of them counts as outdated. */
const firstPurges = 10_000
/** Most names of purges in memory. Beyond it the oldest are forgotten, and pages fetched before them count as outdated. */
const mostNames = 100_000
/** Most characters of these names: a URL may be thousands of characters long. */
const mostCharacters = 16 * 1024 ** 2
/** How long a visitor waits for the latest purges, in milliseconds. After that, the page comes from the shop. */
const patience = new Patience({ least: 250, most: 250 })

/**
 * The latest purges in the database. This process's position is not enough: it moves only after a purge on this machine has been
 * answered, and after the pages of any purge have left the store. So purges are read again for each page of another node; lookups that
 * wait at the same time share a read.
 */
export class RecentPurges implements PurgeClock {
  readonly #lease: Lease
  readonly #ledger: Pick<Ledger, 'read'>
  /** The last purge of each name, oldest first. Repeated purges of the same names take no further memory. */
  readonly #lastOf = new Map<string, number>()
  #characters = 0
  /** Null before the first read. */
  #history: number | null = null
  /** Names of purges after the first number, up to the second, are in memory. */
  #from = 0
  #to = 0
  #reading: Promise<void> = Promise.resolve()
  /** The read that follows the one in progress. */
  #next: Promise<void> | null = null

  constructor(lease: Lease, ledger: Pick<Ledger, 'read'>) {
    this.#lease = lease
    this.#ledger = ledger
  }

  now(): PurgeTime | null {
    return this.#lease.now(readClocks())
  }

  async admits({ history, number: fetchedAt }: PurgeTime, page: Purgeable): Promise<boolean> {
    if (this.now()?.history !== history) return false
    await patience.within(this.#latest())
    // The lease may have ended meanwhile, or another database have taken over.
    if (this.now()?.history !== history || this.#history !== history) return false
    // A number that the database does not have was given by another history, whatever its name.
    if (fetchedAt < this.#from || fetchedAt > this.#to) return false
    return namesOf(page).every((name) => (this.#lastOf.get(name) ?? 0) <= fetchedAt)
  }

  /** Resolves after a read that began after the call. */
  #latest(): Promise<void> {
    return (this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = null
        return (this.#reading = this.#read())
      }))
  }

  async #read(): Promise<void> {
    for (let isWhole = false; !isWhole;) {
      // The first read loads only purges that pages in use may need.
      const after = this.#history === null ? Math.max(0, (this.now()?.number ?? 0) - firstPurges) : this.#to
      const { identity, last, floor, purges } = await this.#ledger.read(after)
      const history = historyOf(identity)
      // The database has changed, or has deleted purges.
      if (history !== this.#history || last < this.#to) this.#restart(history, Math.max(floor, Math.min(after, last)))
      else if (after < floor) this.#restart(history, floor)
      for (const { number, removals } of purges) this.#add(number, removals.flatMap(namesIn))
      isWhole = purges.length < readLimit
      this.#to = purges.at(-1)?.number ?? Math.max(this.#to, last)
    }
  }

  #add(number: number, names: readonly string[]): void {
    for (const name of names) {
      if (!this.#lastOf.delete(name)) this.#characters += name.length
      this.#lastOf.set(name, number)
    }
    if (this.#isFull) this.#forgetOldest()
  }

  get #isFull(): boolean {
    return this.#lastOf.size > mostNames || this.#characters > mostCharacters
  }

  /** Only called when full: an iteration from the start passes over all entries deleted since the map was last rebuilt. */
  #forgetOldest(): void {
    for (const [name, last] of this.#lastOf) {
      if (!this.#isFull) return
      this.#lastOf.delete(name)
      this.#characters -= name.length
      this.#from = last
    }
  }

  #restart(history: number, from: number): void {
    this.#history = history
    this.#lastOf.clear()
    this.#characters = 0
    this.#from = this.#to = from
  }
}
