import { Applier, type NodeStore, type Position } from '../../src/cluster/applier.ts'
import { confirm } from '../../src/cluster/confirm.ts'
import { Lease, type Clocks } from '../../src/cluster/lease.ts'
import { renewalsPerLease } from '../../src/cluster/protocol.ts'
import type { Ledger, MemberDescription, MembersRead, Purge } from '../../src/cluster/ledger.ts'
import type { Database } from './database.ts'
import { Proc, type World } from './world.ts'
import type { Outcome, Settings } from './settings.ts'

export const lease = 1000
/** Clocks run at most this much too fast or too slow. */
const drift = 0.04

interface Answered {
  version: number
  at: number
  unconfirmed: ReadonlySet<string>
}

export class Shop {
  readonly versions = new Map<string, number>()
  readonly answered = new Map<string, Answered[]>()

  version(page: string): number {
    return this.versions.get(page) ?? 0
  }
}

/** The pages of one machine, with the fence that keeps a page out which was fetched before a purge. They outlive a crash. */
export class Store implements NodeStore {
  readonly id: string
  readonly pages = new Map<string, number>()
  readonly flights = new Map<string, { fence: number; outcome: Promise<number | null> }>()
  proc!: Proc
  #sequence = 0
  #cleared = 0
  readonly #removed = new Map<string, number>()
  #saved: Position | null = null
  readonly unfinished = new Set<number>()

  constructor(id: string) {
    this.id = id
  }

  load(): Position | null {
    return this.#saved
  }

  save({ identity, number }: Position): void {
    this.#saved = { identity, number: Math.min(number, ...[...this.unfinished].map((each) => each - 1)) }
  }

  async apply(purges: readonly Purge[]): Promise<[]> {
    await this.proc.sleep(this.proc.world.between(0, 5))
    for (const { removals } of purges)
      for (const removal of removals) if (removal.kind === 'tags') this.remove(removal.tags)
    return []
  }

  async clear(): Promise<void> {
    await this.proc.sleep(this.proc.world.between(0, 20))
    this.pages.clear()
    this.#cleared = this.#sequence += 1
  }

  statistics(): null {
    return null
  }

  remove(tags: readonly string[]): void {
    this.#sequence += 1
    for (const tag of tags) {
      this.pages.delete(tag)
      this.#removed.set(tag, this.#sequence)
    }
  }

  fence(): number {
    return this.#sequence
  }

  holds(fence: number, page: string): boolean {
    return fence >= this.#cleared && fence >= (this.#removed.get(page) ?? 0)
  }
}

class LateLease extends Lease {
  readonly #clocks: () => Clocks

  constructor(clocks: () => Clocks) {
    super()
    this.#clocks = clocks
  }

  override grant(_: Clocks, lease: number, alone: number): void {
    super.grant(this.#clocks(), lease, alone)
  }
}

export interface Parts {
  world: World
  database: Database
  shop: Shop
  settings: Settings
  outcome: Outcome
}

/** A node of the simulated cluster: the real applier and lease over simulated pages. */
export class Node {
  readonly name: string
  proc!: Proc
  #lease = new Lease()
  readonly #store: Store
  readonly #parts: Parts
  #starts = 0

  constructor(name: string, parts: Parts) {
    this.name = name
    this.#parts = parts
    this.#store = new Store(name)
    this.start()
  }

  start(): void {
    const { world, settings } = this.#parts
    const proc = (this.proc = new Proc(world, drift))
    const self: MemberDescription = {
      id: `${this.name}.${(this.#starts += 1)}`,
      node: this.name,
      store: this.name,
      lease,
      alone: settings.alone,
    }
    this.#store.proc = proc
    this.#store.flights.clear()
    this.#lease = settings.mutation?.lateLease === true ? new LateLease(this.#clocks()) : new Lease()
    const applier = new Applier({
      ledger: this.#ledger(),
      self: () => self,
      lease: this.#lease,
      store: this.#store,
      clocks: this.#clocks(),
      wait: proc.wait,
      sleep: proc.sleep,
      onError: () => {},
    })
    void applier.run()
    void this.#notice(proc, this.#lease)
  }

  /** Looks at the clocks often, as a process does without visitors too. */
  async #notice(proc: Proc, held: Lease): Promise<void> {
    while (proc.isAlive) {
      await proc.sleep(lease / renewalsPerLease)
      held.standing(this.#clocks()())
    }
  }

  #ledger(): Ledger {
    const { database, settings } = this.#parts
    const ledger = database.ledgerOf(this.proc)
    return settings.mutation?.ledger?.(ledger) ?? ledger
  }

  #clocks(): () => Clocks {
    const { proc } = this
    const { mutation } = this.#parts.settings
    return () => mutation?.clocks?.(proc.clocks()) ?? proc.clocks()
  }

  #anyPage(): string {
    const { world, settings } = this.#parts
    return `page-${Math.floor(world.between(0, settings.pages))}`
  }

  /** The shop changes a page and purges it here, as soon as the process is running. */
  purge(): void {
    const page = this.#anyPage()
    this.proc.deliver(() => void this.#purge(page, this.proc).catch(() => {}))
  }

  async #purge(page: string, proc: Proc): Promise<void> {
    const { database, shop, outcome, settings } = this.#parts
    const began = proc.world.now
    const version = shop.version(page) + 1
    shop.versions.set(page, version)
    const ledger = database.ledgerOf(proc)
    const { number, identity } = await ledger.append(this.name, [{ kind: 'tags', tags: [page] }])
    this.#store.unfinished.add(number)
    await proc.sleep(proc.world.between(0, 3))
    this.#store.remove([page])
    this.#store.unfinished.delete(number)
    const { believed = 1, members: changed = (read: MembersRead) => read } = settings.mutation ?? {}
    const members = async () => {
      const found = changed(await ledger.members())
      return { ...found, members: found.members.map((each) => ({ ...each, lease: each.lease * believed })) }
    }
    const { unconfirmed } = await confirm(
      {
        ledger: { ...ledger, members },
        lease: lease * believed,
        mono: () => proc.clocks().mono,
        sleep: proc.sleep,
        pause: 20,
        patience: 10_000,
      },
      { number, identity, store: this.name },
    )
    outcome.answered += 1
    outcome.waits.push(proc.world.now - began)
    const answered = shop.answered.get(page) ?? []
    shop.answered.set(page, [...answered, { version, at: proc.world.now, unconfirmed: new Set(unconfirmed) }])
  }

  visit(): void {
    const page = this.#anyPage()
    const arrived = this.#parts.world.now
    const { proc } = this
    proc.deliver(() => void this.#visit(page, arrived, proc), this.#parts.world.chance(0.5))
  }

  async #visit(page: string, arrived: number, proc: Proc): Promise<void> {
    const { outcome, shop, world } = this.#parts
    const standing = this.#lease.standing(this.#clocks()())
    // The shop answers.
    if (standing === 'none') return
    const judge = (version: number) => this.#judge(page, version, arrived, standing === 'unconfirmed')
    const found = this.#store.pages.get(page)
    if (found !== undefined) {
      outcome.hits += 1
      outcome.unconfirmed += Number(standing === 'unconfirmed')
      return judge(found)
    }
    const flight = this.#store.flights.get(page)
    if (flight !== undefined && this.#store.holds(flight.fence, page)) {
      const version = await flight.outcome
      return version === null ? undefined : judge(version)
    }
    const fence = this.#store.fence()
    const { promise, resolve } = Promise.withResolvers<number | null>()
    this.#store.flights.set(page, { fence, outcome: promise })
    await proc.sleep(world.between(1, 30))
    const version = shop.version(page)
    await proc.sleep(world.between(1, world.chance(0.1) ? 300 : 30))
    if (this.#store.holds(fence, page)) this.#store.pages.set(page, version)
    if (this.#store.flights.get(page)?.fence === fence) this.#store.flights.delete(page)
    resolve(version)
    judge(version)
  }

  /** A visitor got a version of a page. Without a lease it may be older only where the purge has named this node. */
  #judge(page: string, version: number, arrived: number, isUnconfirmed: boolean): void {
    const broken = this.#parts.shop.answered
      .get(page)
      ?.find(
        (each) => each.version > version && each.at <= arrived && !(isUnconfirmed && each.unconfirmed.has(this.name)),
      )
    if (broken === undefined) return
    this.#parts.outcome.stale ??= `${this.name} served ${page} of version ${version} at ${arrived.toFixed(1)}; its purge for version ${broken.version} was answered at ${broken.at.toFixed(1)}`
  }
}
