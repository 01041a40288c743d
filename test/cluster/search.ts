import { random } from '../helpers/random.ts'
import type { Fault, Mutation, Outcome, Settings } from './settings.ts'
import { Simulation } from './simulation.ts'

/** A random run of a few nodes over some seconds, with everything that may go wrong. */
export function settingsOf(seed: number, mutation?: Mutation): Settings {
  const next = random(seed * 7919)
  const between = (least: number, most: number) => least + next() * (most - least)
  const duration = between(4000, 12_000)
  const nodes = 2 + Math.floor(next() * 3)
  const faults = Array.from({ length: Math.floor(between(0, 7)) }, () => faultOf(next, nodes, duration))
  return {
    seed,
    nodes,
    pages: 1 + Math.floor(next() * 4),
    duration,
    purges: between(0.3, 3),
    visits: between(10, 30),
    alone: next() < 0.5 ? 0 : between(500, 4000),
    loss: next() < 0.5 ? 0 : between(0, 0.05),
    delay: next() < 0.8 ? between(0.2, 10) : between(10, 200),
    faults,
    ...(mutation !== undefined && { mutation }),
  }
}

function faultOf(next: () => number, nodes: number, duration: number): Fault {
  const between = (least: number, most: number) => least + next() * (most - least)
  const [at, node] = [between(200, duration), Math.floor(next() * nodes)]
  const long = next() < 0.5 ? between(50, 1500) : between(1000, 8000)
  const kind = Math.floor(next() * 7)
  if (kind === 0) return { kind: 'failover', at, lag: between(0, 400) }
  if (kind === 1) return { kind: 'down', at, for: long }
  if (kind === 2) return { kind: 'wall', at, node, by: between(-5000, 5000) }
  return { kind: (['freeze', 'sleep', 'cut', 'crash'] as const)[kind - 3]!, at, node, for: long }
}

export interface Search {
  runs: number
  answered: number
  hits: number
  unconfirmed: number
  /** The settings of the first run with a stale page, with as few faults as possible, and what went wrong; null for none. */
  found: { seed: number; faults: readonly Fault[]; stale: string } | null
}

/** A run in which nodes are cut off again and again while many purges wait for them. */
export function busySettingsOf(seed: number, mutation?: Mutation): Settings {
  const faults = Array.from({ length: 3 }, (_, node): Fault => ({
    kind: 'cut',
    at: 1000 + 3000 * node,
    node,
    for: 1700,
  }))
  const often = { duration: 10_000, nodes: 3, purges: 8, pages: 40, visits: 150, loss: 0, faults }
  return { ...settingsOf(seed, mutation), ...often, delay: [300, 100, 10][seed % 3]! }
}

/** A run in which another server takes over, without what was committed last, while a node is cut off. */
export function failoverSettingsOf(seed: number, mutation?: Mutation): Settings {
  // Early ones lose that a node was admitted, although it has a lease.
  const at = seed % 2 === 0 ? 50 : 2000 + ((seed * 37) % 1000)
  const faults: Fault[] = [
    { kind: 'failover', at, lag: 400 },
    { kind: 'cut', at: at + 300, node: 0, for: 600 },
  ]
  return { ...busySettingsOf(seed, mutation), duration: 5000, faults }
}

/** Runs the model with one seed after another until a visitor gets a stale page. */
export async function search(
  seeds: { from: number; runs: number },
  mutation?: Mutation,
  toSettings: typeof settingsOf = settingsOf,
): Promise<Search> {
  const result: Search = { runs: 0, answered: 0, hits: 0, unconfirmed: 0, found: null }
  for (let seed = seeds.from; seed < seeds.from + seeds.runs; seed += 1) {
    const settings = toSettings(seed, mutation)
    const outcome = await run(settings)
    result.runs += 1
    result.answered += outcome.answered
    result.hits += outcome.hits
    result.unconfirmed += outcome.unconfirmed
    if (outcome.stale === null) continue
    const { faults, stale } = await shrink(settings, outcome.stale)
    return { ...result, found: { seed, faults, stale } }
  }
  return result
}

export function run(settings: Settings): Promise<Outcome> {
  return new Simulation(settings).run()
}

/** Replays a seed without faults that do not matter. */
async function shrink(settings: Settings, stale: string): Promise<{ faults: readonly Fault[]; stale: string }> {
  for (const fault of settings.faults) {
    const faults = settings.faults.filter((each) => each !== fault)
    const outcome = await run({ ...settings, faults })
    if (outcome.stale !== null) return shrink({ ...settings, faults }, outcome.stale)
  }
  return { faults: settings.faults, stale }
}
