import type { purgeStatistics, recentInvalidations, recentPurges } from '../../../operations/purge-log.ts'
import { formatCount } from '../../../lib/format.ts'
import { emptyView, gap } from '../../block.ts'
import { stalest } from '../../stale.ts'
import { planFeed } from '../../feed.ts'
import { defineTab } from '../../tab.ts'
import { everythingBlock, proxyBlock, rateBlock, searchBlock, whoBlock } from './figures.ts'
import { invalidationsPanel, purgesPanel, tagsPanel } from './lists.ts'
import { isSearch, searchOf, type PurgeStatistics } from './values.ts'

/** Purges to fetch, newest first: enough for the list and the rate. */
const tail = 200

export const purgePlan = planFeed<typeof purgeStatistics>('purgeLog.stats', {}, 1000)

const plans = {
  purges: purgePlan,
  invalidations: planFeed<typeof recentInvalidations>('invalidationLog.recent', { limit: tail }, 1000),
}

const recentPlan = planFeed<typeof recentPurges>('purgeLog.recent', { limit: tail }, 500)

/** Milliseconds between two searches, each of which takes up to half a second. */
const searchEvery = 3000

/** Live purges, their causes, and reverse proxies with a backlog. */
export const purgesTab = defineTab({
  id: 'purges',
  title: 'Purges',
  plans: { ...plans, recentPurges: recentPlan },
  search(filter) {
    const search = searchOf(filter)
    const recent =
      search === ''
        ? recentPlan
        : planFeed<typeof recentPurges>('purgeLog.recent', { search, limit: tail }, searchEvery)
    return { ...plans, recentPurges: recent }
  },
  view({ feeds, values, now, time }) {
    const { purges: statistics, recentPurges: listed, invalidations } = values
    // Found purges say nothing about the present rate.
    const recent = isSearch(listed) ? null : listed
    const stale = stalest([feeds['purges'], feeds['recentPurges'], feeds['invalidations']], now)
    if (statistics === null) return emptyView('Loading purges …', stale)
    return {
      blocks: [
        rateBlock(statistics, recent, time),
        proxyBlock(statistics, time),
        ...(invalidations ? [everythingBlock(invalidations, time), whoBlock(invalidations)] : []),
        ...(isSearch(listed) ? [searchBlock(listed)] : []),
        gap,
      ],
      panels: [
        ...(listed ? [purgesPanel(listed, invalidations?.items ?? [], time)] : []),
        ...(invalidations ? [invalidationsPanel(invalidations, time)] : []),
        tagsPanel(statistics),
      ],
      lead: true,
      stale,
      run: null,
      short: purgesInShort(statistics),
    }
  },
})

/** `1,234 in 24 h, 12 behind at varnish-1`. */
export function purgesInShort({ overview, proxies }: PurgeStatistics): string {
  const behind = proxies
    .filter(({ pending }) => pending > 0)
    .map(({ name, pending }) => `${formatCount(pending)} behind at ${name}`)
  const failed = proxies
    .filter(({ failed: never }) => never > 0)
    .map(({ name, failed: never }) => `${formatCount(never)} undelivered to ${name}`)
  return [`${formatCount(overview.totalPurges)} in 24 h`, ...behind, ...failed].join(', ')
}
