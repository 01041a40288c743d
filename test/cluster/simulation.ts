import { Database } from './database.ts'
import { World } from './world.ts'
import type { Fault, Outcome, Settings } from './settings.ts'
import { Node, Shop, type Parts } from './node.ts'

/** A cluster of nodes with visitors and purgers, which judges every page that a visitor gets. */
export class Simulation {
  readonly outcome: Outcome = { stale: null, answered: 0, hits: 0, unconfirmed: 0, waits: [] }
  readonly #world: World
  readonly #database: Database
  readonly #shop = new Shop()
  readonly #settings: Settings
  readonly #nodes: Node[]

  constructor(settings: Settings) {
    this.#settings = settings
    const { loss, delay, mutation } = settings
    const world = (this.#world = new World(settings.seed))
    const goneAfter = 5000
    this.#database = new Database(world, { loss, delay, goneAfter, sequence: mutation?.sequence === true })
    this.#nodes = Array.from({ length: settings.nodes }, (_, index) => new Node(`node-${index}`, this.#parts()))
    let isHinted = false
    this.#database.onPurge = () => {
      if (isHinted) return
      isHinted = true
      world.after(5, () => {
        isHinted = false
        for (const { proc } of this.#nodes)
          if (!world.chance(settings.loss)) world.after(world.between(0, settings.delay), () => proc.wake())
      })
    }
  }

  #parts(): Parts {
    return {
      world: this.#world,
      database: this.#database,
      shop: this.#shop,
      settings: this.#settings,
      outcome: this.outcome,
    }
  }

  async run(): Promise<Outcome> {
    const { duration, purges, visits, faults } = this.#settings
    const world = this.#world
    for (const fault of faults) world.after(fault.at, () => this.#cause(fault))
    for (let at = 2000; at < duration; at += 2000) world.after(at, () => this.#database.prune())
    for (const node of this.#nodes) {
      this.#often(purges, () => node.purge())
      this.#often(visits, () => node.visit())
    }
    for (let end = 0; end < duration && this.outcome.stale === null; end += 500) await world.runUntil(end + 500)
    return this.outcome
  }

  #often(perSecond: number, what: () => void): void {
    const again = () => {
      if (this.#world.now > 0) what()
      this.#world.after(this.#world.between(0, 2000 / perSecond), again)
    }
    again()
  }

  #cause(fault: Fault): void {
    const world = this.#world
    if (fault.kind === 'failover') return this.#database.failOver(fault.lag)
    if (fault.kind === 'down') {
      this.#database.isDown = true
      return world.after(fault.for, () => (this.#database.isDown = false))
    }
    const node = this.#nodes[fault.node % this.#nodes.length]!
    const { proc } = node
    if (fault.kind === 'wall') return proc.setWallClock(fault.by)
    if (fault.kind === 'crash') {
      proc.isAlive = false
      return world.after(fault.for, () => node.start())
    }
    if (fault.kind === 'cut') {
      proc.isCut = true
      return world.after(fault.for, () => (proc.isCut = false))
    }
    proc.freeze(fault.kind === 'sleep')
    world.after(fault.for, () => proc.thaw())
  }
}
