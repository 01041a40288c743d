import type { Clocks, Lease } from './lease.ts'
import type { Ledger, MemberDescription, MemberReport, MemberWrite, Purge, RemovedPages } from './ledger.ts'
import { readLimit, renewalsPerLease } from './protocol.ts'

/** A position in the order of purges of one database. */
export interface Position {
  identity: string
  number: number
}

/** The page store of a node, as the purges of other nodes change it. */
export interface NodeStore {
  /** The position that was kept with the pages now stored; null if it is unknown. */
  load(): Position | null
  /** Keeps the position for the next start. It may be an earlier one. */
  save(position: Position): Promise<void> | void
  /** Removes pages durably, and stores none that were fetched before. Resolves to the purges that removed any pages. */
  apply(purges: readonly Purge[]): Promise<readonly RemovedPages[]>
  /** Removes all pages, and stores none that was fetched before. */
  clear(): Promise<void>
  /** Figures for the other nodes, as JSON; null if they cannot be read. */
  statistics(): string | null
}

export interface ApplierOptions {
  ledger: Ledger
  /** Read again with each registration. */
  self: () => MemberDescription
  lease: Lease
  store: NodeStore
  clocks: () => Clocks
  /** Resolves after this many milliseconds, or earlier when there may be new purges. */
  wait(ms: number): Promise<void>
  /** Resolves after this many milliseconds. */
  sleep(ms: number): Promise<void>
  onError(error: unknown): void
}

/** A position in no database. */
const nowhere: Position = { identity: '', number: 0 }

/** How long a batch of purges may take until the lease is no longer renewed meanwhile (milliseconds): others must not wait for a stuck disk. */
const patience = 30_000

/**
 * Applies the purges of all nodes to the store of this one, and keeps the lease under which it serves pages. The lease is extended only
 * by a write that the database accepts, and counts from before the write was sent.
 */
export class Applier {
  readonly #options: ApplierOptions
  #at: Position | null = null
  #isLive = false
  #barrier = 0
  /** Purges up to this number may be those of a process on this store that has ended; null before the first read. */
  #resumedAt: number | null = null
  #confirmed = 0
  #renewal = 0
  /** The report of the next renewal. */
  #removed: readonly RemovedPages[] = []
  #question = 0
  #answered = 0
  #stopped = false

  constructor(options: ApplierOptions) {
    this.#options = options
  }

  /** Runs until `stop`. The lease ends before the member leaves. */
  async run(): Promise<void> {
    const { ledger, lease, self, wait } = this.#options
    // Another thread of this process may have held it before.
    lease.drop()
    while (!this.#stopped) {
      const more = await this.#attempt()
      if (!more && !this.#stopped) await wait(self().lease / renewalsPerLease)
    }
    lease.drop()
    await ledger.leave(self().id, this.#nextRenewal()).catch(() => {})
  }

  /** Ends the lease at once and makes `run` return after the step in hand. */
  stop(): void {
    this.#stopped = true
    this.#options.lease.drop()
  }

  async #attempt(): Promise<boolean> {
    try {
      return await this.#step()
    } catch (error) {
      // Whatever failed, the lease ends by itself unless a later step extends it.
      this.#options.onError(error)
      return false
    }
  }

  /** Applies the next purges and extends the lease. True where more are waiting. */
  async #step(): Promise<boolean> {
    const { ledger, lease } = this.#options
    this.#at ??= await this.#resume()
    if (this.#at === null) return this.#startEmpty()
    const { identity, last, floor, purges, question } = await ledger.read(this.#at.number)
    const { number } = this.#at
    if (identity !== this.#at.identity || number < floor || number > last) return this.#startEmpty()
    this.#resumedAt ??= last
    this.#question = question
    await this.#apply(purges)
    lease.moveTo(this.#at.identity, this.#at.number)
    const isBehind = purges.length >= readLimit
    if (this.#isLive) await this.#renew()
    else if (!isBehind) await this.#admit()
    if (this.#at.identity === nowhere.identity) return false
    await this.#options.store.save(this.#at)
    return isBehind || !this.#isLive || this.#at.number < this.#barrier
  }

  /** Goes on where an earlier process has stopped. */
  async #resume(): Promise<Position | null> {
    const position = this.#options.store.load()
    if (position !== null) await this.#join(position)
    return position
  }

  /** Starts without pages where purges may have been missed. */
  async #startEmpty(): Promise<true> {
    const { ledger, lease, store } = this.#options
    lease.drop()
    this.#isLive = false
    this.#at = null
    const { identity, last } = await ledger.read(Number.MAX_SAFE_INTEGER)
    // Pages stored from now on were fetched after the number was read.
    await store.clear()
    const position = { identity, number: last }
    await this.#join(position)
    this.#at = position
    lease.moveTo(identity, last)
    await store.save(position)
    return true
  }

  async #join(position: Position): Promise<void> {
    const { ledger, self } = this.#options
    this.#confirmed = 0
    await ledger.join({ ...self(), ...this.#write(position) })
  }

  /** Removes the pages of purges. A large one may take longer than the lease, which is renewed meanwhile: its purger waits. */
  async #apply(purges: readonly Purge[]): Promise<void> {
    if (purges.length === 0) return
    const { store, self, clocks, sleep } = this.#options
    const started = clocks().mono
    let isDone = false
    const applying = store.apply(purges.filter((purge) => this.#isForeign(purge))).finally(() => (isDone = true))
    // An error is thrown by the `await` below.
    applying.catch(() => {})
    while (!isDone) {
      await Promise.race([applying, sleep(self().lease / renewalsPerLease)]).catch(() => {})
      if (!isDone && this.#isLive && clocks().mono - started < patience) await this.#renew()
    }
    this.#removed = [...this.#removed, ...(await applying)]
    this.#at = { ...this.#at!, number: purges.at(-1)!.number }
  }

  /** Whether no other process removes the pages of a purge from this store. */
  #isForeign({ store, number }: Purge): boolean {
    return store !== this.#options.self().store || number <= this.#resumedAt!
  }

  async #renew(): Promise<void> {
    const { ledger, clocks } = this.#options
    const asked = clocks()
    const write = this.#write(this.#at!)
    const report = this.#report()
    const answer = await ledger.renew(write, report)
    // Purges wait only for live members.
    this.#removed = []
    if (answer === 'renewed') {
      this.#answered = this.#question
      return this.#confirm(write, asked)
    }
    this.#isLive = false
    if (answer === 'lost') this.#lose()
  }

  #report(): MemberReport {
    const question = this.#question
    const answer = question === this.#answered ? null : { question, statistics: this.#options.store.statistics() }
    return { removed: this.#removed, answer }
  }

  async #admit(): Promise<void> {
    const { ledger, clocks } = this.#options
    const asked = clocks()
    const write = this.#write(this.#at!)
    const answer = await ledger.admit(write)
    if (answer === 'lost') return this.#lose()
    this.#isLive = true
    this.#removed = []
    this.#barrier = answer.barrier
    this.#confirm(write, asked)
  }

  #confirm({ renewal, position }: MemberWrite, asked: Clocks): void {
    const { lease, self } = this.#options
    this.#confirmed = renewal
    // Purges up to the barrier were answered without waiting for this member.
    if (position >= this.#barrier && !this.#stopped) lease.grant(asked, self().lease, self().alone)
  }

  /** The database has forgotten a write of this member, and perhaps purges: the pages must go before anything else. */
  #lose(): void {
    this.#options.lease.drop()
    this.#at = nowhere
  }

  #write({ identity, number }: Position): MemberWrite {
    const { id } = this.#options.self()
    return { id, identity, position: number, confirmed: this.#confirmed, renewal: this.#nextRenewal() }
  }

  /** Larger than those of an earlier thread of this process, which had the same clock. */
  #nextRenewal(): number {
    return (this.#renewal = Math.max(this.#renewal + 1, Math.floor(this.#options.clocks().mono)))
  }
}
