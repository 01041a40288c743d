import type { App } from '../app.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { PageType } from '../pages/page.ts'
import type { TypeCounters } from '../pages/page-store.ts'
import { addCounters, totalsOf } from '../pages/statistics.ts'

type Counters = Record<PageType, TypeCounters>

/**
 * The counters of the page stores of all live nodes, and their sum. The own store counts if its daemon runs, or if no other node is live.
 *
 * @param own counters of the page store of this machine
 */
export async function countNodes(app: App, own: Counters) {
  const [{ askNodes }, { storeId }, { db }] = await Promise.all([
    import('../cluster/nodes.ts'),
    import('../cluster/node-store.ts'),
    app.records(),
  ])
  const { isMember, stores } = await askNodes(db, storeId(app.loaded.places.cacheDir))
  const others = stores.map(({ node, statistics }) => ({ name: node, counters: statistics as Counters }))
  const all = isMember || others.length === 0 ? [{ name: app.node!.setup.node, counters: own }, ...others] : others
  const nodes = all.map(({ name, counters }) => {
    const { count, size } = totalsOf(counters)
    return { name, totalFiles: count, totalSize: size, totalSizeFormatted: formatBytes(size) }
  })
  return {
    counters: addCounters(all.map(({ counters }) => counters)),
    nodes: nodes.sort((one, other) => one.name.localeCompare(other.name, 'en')),
  }
}
