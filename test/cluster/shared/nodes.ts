import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../../src/cache/build.ts'
import type { Purgeable, PurgeClock, PurgeTime } from '../../../src/cluster/clock.ts'
import { SharedPages, type SharedPagesOptions } from '../../../src/cluster/shared/shared-pages.ts'
import type { Selection } from '../../../src/pages/page-store.ts'
import { selects } from '../../../src/pages/removals.ts'
import { noon, openSite, type Site } from '../../cache/site.ts'
import { startRedis, type Redis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'

/** The purges of a cluster in memory, in the order in which the real clock numbers them. */
export class Purges {
  readonly #all: Selection[] = []
  readonly #nodes = new Set<{ site: Site; applied: number }>()

  /** The clock of a node. */
  clock(node: { site: Site | null; applied: number }): PurgeClock {
    return {
      now: () => ({ history: 1, number: node.applied }),
      admits: async ({ number }: PurgeTime, page: Purgeable) =>
        !this.#all.slice(number).some((selection) => selects(selection, page)),
    }
  }

  join(node: { site: Site; applied: number }): void {
    this.#nodes.add(node)
  }

  /** Purges on every node, as an answered purge does. */
  async purge(selection: Selection): Promise<void> {
    const number = this.#all.push(selection)
    for (const node of this.#nodes) {
      await node.site.store.remove(selection)
      node.applied = number
    }
  }
}

const secret = Buffer.alloc(32, 7)

export interface Node extends Site {
  shared: SharedPages
  /** What the log says about the shared pages. */
  told: string[]
}

/** Long enough that only a test's own fault lets an answer be late. */
const patient = { least: 30_000, most: 30_000 }

/** A node with a store of its own, in this process. */
export async function openNode(
  url: string,
  purges: Purges,
  options: Partial<SharedPagesOptions> = {},
  changes: Partial<CacheSettings> = {},
): Promise<Node> {
  const node: { site: Site | null; applied: number } = { site: null, applied: 0 }
  const told: string[] = []
  let now = () => noon
  const shared = new SharedPages({
    url,
    clock: purges.clock(node),
    now: () => now(),
    maxAge: 86_400_000,
    maxVariants: 64,
    secret: async () => secret,
    onChange: (message) => told.push(message),
    limits: patient,
    waitFor: 60_000,
    ...options,
  })
  const site = await openSite({ shared, ...changes })
  now = site.now
  purges.join(Object.assign(node, { site }))
  onTestFinished(async () => {
    await shared.close()
    await site.close()
  })
  return Object.assign(site, { shared, told })
}

/** Resolves when a node reads and writes shared pages. */
export function connected({ shared }: Node): Promise<unknown> {
  return until(() => shared.faults.read === null && shared.faults.write === null)
}

/** A page that nodes may share. */
export const page = { fields: { 'Cache-Control': 'public, s-maxage=600', xkey: 'product-1' }, body: 'the page' }

/** Resolves when a node has given this many pages to the others. */
export function written({ shared }: Node, count = 1): Promise<unknown> {
  return until(() => shared.counts.written >= count)
}

/** Starts Redis for a file of tests; each test finds it empty, and a cluster without purges. */
export function useNodes() {
  const cluster = {
    redis: undefined as unknown as Redis,
    purges: new Purges(),
    /** Opens connected nodes whose shop answers with `page`. */
    async open(count: number, options: Partial<SharedPagesOptions> = {}): Promise<Node[]> {
      const nodes = await Promise.all(
        Array.from({ length: count }, () => openNode(cluster.redis.url, cluster.purges, options)),
      )
      await Promise.all(nodes.map(connected))
      for (const node of nodes) node.answers(page)
      return nodes
    },
  }
  beforeAll(async () => {
    cluster.redis = await startRedis()
  })
  afterAll(() => cluster.redis?.stop())
  beforeEach(async () => {
    await cluster.redis.run('FLUSHALL')
    cluster.purges = new Purges()
  })
  return cluster
}
