import type { PurgeClock, PurgeTime } from './clock.ts'
import { historyOf } from './lease.ts'
import type { Ledger } from './ledger.ts'

/**
 * The purge clock of a process that serves no visitors and so has no lease, such as a worker. Other nodes get the pages that it fetches,
 * but it uses none of theirs. Its time is that of the last read, so a page may count as older than it is, but never as newer.
 */
export class OutsideClock implements PurgeClock {
  readonly #ledger: Pick<Ledger, 'read'>
  #last: PurgeTime | null = null
  #isReading = false

  private constructor(ledger: Pick<Ledger, 'read'>) {
    this.#ledger = ledger
  }

  /** Resolves after the first read, without which the first pages would not be shared. */
  static async open(ledger: Pick<Ledger, 'read'>): Promise<OutsideClock> {
    const clock = new OutsideClock(ledger)
    await clock.#read()
    return clock
  }

  now(): PurgeTime | null {
    void this.#read()
    return this.#last
  }

  async admits(): Promise<boolean> {
    return false
  }

  async #read(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      const { identity, last } = await this.#ledger.read(Number.MAX_SAFE_INTEGER)
      this.#last = { history: historyOf(identity), number: last }
    } catch {
      this.#last = null
    } finally {
      this.#isReading = false
    }
  }
}
