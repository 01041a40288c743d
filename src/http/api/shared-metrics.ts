import { noCounts, type SharedPageCounts } from '../../cluster/shared/counts.ts'
import { rising, type MetricsOptions, type Reading } from './metric.ts'

const none = { counts: noCounts(), faults: { read: null, write: null } }

/** Metrics of the pages that all nodes share. They are 0 where `cache.shared.url` is not set. */
export function readShared({ app }: MetricsOptions): Reading[] {
  const pages = async () => (await app().sharedPages()) ?? none
  const counter = (name: string, help: string, count: (counts: SharedPageCounts) => number): Reading => ({
    aggregator: 'sum',
    type: 'counter',
    name: `pagecache_shared_${name}_total`,
    help,
    read: rising(pages, ({ counts }) => count(counts)),
  })
  return [
    {
      aggregator: 'sum',
      type: 'gauge',
      name: 'pagecache_shared_down',
      help: 'Processes that cannot read or write shared pages',
      read: async () => {
        const { read, write } = (await pages()).faults
        return [
          [{ use: 'read' }, read === null ? 0 : 1],
          [{ use: 'write' }, write === null ? 0 : 1],
        ]
      },
    },
    counter('hits', 'Pages of other nodes that were used instead of a fetch', ({ hits }) => hits),
    counter('misses', 'Pages that no other node had', ({ misses }) => misses),
    counter('waits', 'Waits for the fetch of another node', ({ waits }) => waits),
    counter('read_failures', 'Looks for shared pages that failed', ({ unavailable }) => unavailable),
    counter('invalid', 'Shared pages that no node had written in this form', ({ invalid }) => invalid),
    counter('written', 'Pages written for other nodes', ({ written }) => written),
    counter('write_failures', 'Pages that could not be written for other nodes', ({ unwritten }) => unwritten),
  ]
}
