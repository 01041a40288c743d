import type { Purgeable, PurgeClock } from './clock.ts'
import { readClocks, type Lease } from './lease.ts'
import type { Ledger, Purge } from './ledger.ts'
import { readLimit } from './protocol.ts'
import { maySelect } from './removal.ts'

/** Most purges in memory. A page that was fetched before the oldest of them counts as outdated. */
const most = 10_000

/** The latest purges, which this process reads when its position has moved. */
export class RecentPurges implements PurgeClock {
  readonly #lease: Lease
  readonly #ledger: Pick<Ledger, 'read'>
  #purges: Purge[] = []
  #identity = ''
  /** Purges after the first number, up to the second, are in memory. */
  #from = 0
  #to = 0
  #reading: Promise<void> | null = null

  constructor(lease: Lease, ledger: Pick<Ledger, 'read'>) {
    this.#lease = lease
    this.#ledger = ledger
  }

  now(): number | null {
    return this.#lease.standing(readClocks()) === 'confirmed' ? this.#lease.position : null
  }

  async admits(fetchedAt: number, page: Purgeable): Promise<boolean> {
    const now = this.now()
    if (now === null) return false
    if (fetchedAt === now) return true
    // A reading in progress may have begun before the last purge.
    for (let reads = 0; this.#to < now && reads < 2; reads += 1) await (this.#reading ??= this.#read(now))
    if (this.#to < now || fetchedAt < this.#from) return false
    return !this.#purges.some(
      ({ number, removals }) => number > fetchedAt && removals.some((removal) => maySelect(removal, page)),
    )
  }

  async #read(now: number): Promise<void> {
    try {
      for (let isWhole = false; !isWhole;) {
        // The first time only what pages in use may need.
        const after = this.#identity === '' ? Math.max(0, now - most) : this.#to
        const { identity, floor, purges } = await this.#ledger.read(after)
        if (identity !== this.#identity) this.#restart(identity, Math.max(floor, after))
        else if (after < floor) this.#restart(identity, floor)
        this.#purges.push(...purges)
        isWhole = purges.length < readLimit
        this.#to = purges.at(-1)?.number ?? Math.max(this.#to, now)
      }
      const dropped = this.#purges.splice(0, this.#purges.length - most).at(-1)
      if (dropped !== undefined) this.#from = dropped.number
    } finally {
      this.#reading = null
    }
  }

  #restart(identity: string, from: number): void {
    this.#identity = identity
    this.#purges = []
    this.#from = this.#to = from
  }
}
