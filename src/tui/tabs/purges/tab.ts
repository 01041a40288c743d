import { formatCount } from '../../../lib/format-count.ts'
import { block, gap } from '../../block.ts'
import { stalest } from '../../stale.ts'
import type { Tab } from '../../tab.ts'
import { span } from '../../text/line.ts'
import { everythingBlock, proxyBlock, rateBlock, whoBlock } from './figures.ts'
import { invalidationsPanel, purgesPanel, tagsPanel } from './lists.ts'
import type { PurgeStatistics, RecentInvalidations, RecentPurges } from './values.ts'

/** So many of the latest are enough for a tail and for a rate. */
const tail = 200

export const purgePlan = { operation: 'purgeLog.stats', input: {}, every: 1000 }

/** Purges as they happen, what caused them, and which reverse proxy is behind. */
export const purgesTab: Tab = {
  id: 'purges',
  title: 'Purges',
  plans: {
    purges: purgePlan,
    recentPurges: { operation: 'purgeLog.recent', input: { limit: tail }, every: 500 },
    invalidations: { operation: 'invalidationLog.recent', input: { limit: tail }, every: 1000 },
  },
  view({ feeds, now, time }) {
    const statistics = (feeds['purges']?.value ?? null) as PurgeStatistics | null
    const recent = (feeds['recentPurges']?.value ?? null) as RecentPurges | null
    const invalidations = (feeds['invalidations']?.value ?? null) as RecentInvalidations | null
    const stale = stalest([feeds['purges'], feeds['recentPurges'], feeds['invalidations']], now)
    if (statistics === null)
      return {
        blocks: [block(0, () => [[span('Asking for the purges …', 'dim')]])],
        panels: [],
        stale,
        run: null,
        short: 'asking …',
      }
    return {
      blocks: [
        rateBlock(statistics, recent, time),
        proxyBlock(statistics, time),
        ...(invalidations ? [everythingBlock(invalidations, time), whoBlock(invalidations)] : []),
        gap,
      ],
      panels: [
        ...(recent ? [purgesPanel(recent, invalidations?.items ?? [], time)] : []),
        ...(invalidations ? [invalidationsPanel(invalidations, time)] : []),
        tagsPanel(statistics),
      ],
      lead: true,
      stale,
      run: null,
      short: purgesInShort(statistics),
    }
  },
}

/** `1,234 in 24 h, 12 behind at varnish-1`. */
export function purgesInShort({ overview, proxies }: PurgeStatistics): string {
  const behind = proxies
    .filter(({ pending }) => pending > 0)
    .map(({ name, pending }) => `${formatCount(pending)} behind at ${name}`)
  const failed = proxies
    .filter(({ failed: never }) => never > 0)
    .map(({ name, failed: never }) => `${formatCount(never)} never told to ${name}`)
  return [`${formatCount(overview.totalPurges)} in 24 h`, ...behind, ...failed].join(', ')
}
