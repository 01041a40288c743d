import type { NodeRemoved } from '../cluster/removed-pages.ts'
import type { NodeShare } from './invalidation.ts'
import type { LocallyDone, PurgingOptions } from './intent.ts'

/** What all nodes have removed. */
export interface Everywhere {
  /** Pages removed from all nodes, in the order of the keys. */
  everywhere: readonly number[]
  /** Sums by node; null with one machine. */
  nodes: NodeShare[] | null
  /** Nodes that may still serve the pages without a lease. */
  unconfirmed: string[]
}

/** An intent whose pages are removed from all nodes. */
export type DoneEverywhere = LocallyDone & Everywhere

/**
 * Waits until no other node serves pages from before these intents. To be awaited before they are delivered: a reverse proxy must not
 * fetch an old page from a node.
 */
export async function confirmEverywhere<Done extends LocallyDone>(
  { cluster = null }: Pick<PurgingOptions, 'cluster'>,
  done: readonly Done[],
): Promise<(Done & Everywhere)[]> {
  const clocks = done.flatMap(({ intent }) => intent.clock ?? [])
  const last = clocks.at(-1)
  if (cluster === null || last === undefined)
    return done.map((each) => ({ ...each, everywhere: each.counts, nodes: null, unconfirmed: [] }))
  const { live, isAlone, unconfirmed } = await cluster.confirm(last)
  const removed = isAlone ? [] : await cluster.removed(clocks.map(({ number }) => number))
  const byPurge = Map.groupBy(removed, ({ number }) => number)
  return done.map((each) => {
    const others = byPurge.get(each.intent.clock?.number ?? -1) ?? []
    const local = sum(each.counts)
    const names = new Set([...live, ...others.map(({ node }) => node), ...(local > 0 ? [cluster.node] : [])])
    const nodes = [...names].sort().map((name) => ({
      name,
      pagesRemoved:
        sum(others.filter(({ node }) => node === name).flatMap(({ counts }) => counts)) +
        (name === cluster.node ? local : 0),
    }))
    return { ...each, everywhere: addUp(each, others), nodes, unconfirmed }
  })
}

/** The counts of all nodes, in the order of the keys. Other nodes count in the order of the removals, which are made from the groups. */
function addUp({ intent, counts }: LocallyDone, others: readonly NodeRemoved[]): number[] {
  const order = intent.groups.flatMap(({ keys }) => keys)
  const all = [...counts]
  for (const { counts: own } of others)
    for (const [index, count] of own.entries()) if (order[index] !== undefined) all[order[index]]! += count
  return all
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}
