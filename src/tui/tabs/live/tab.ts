import type { liveTraffic } from '../../../operations/traffic-live.ts'
import { visitorResults } from '../../../operations/traffic-live.ts'
import { formatCount } from '../../../lib/format.ts'
import { block, gap, label, labelWidth } from '../../block.ts'
import { planFollow, type Feed } from '../../feed.ts'
import type { Block } from '../../panel.ts'
import { defineTab } from '../../tab.ts'
import { share, shortRate } from '../../text/amount.ts'
import { sparkline } from '../../text/chart.ts'
import { join, lineWidth, span, type Line } from '../../text/line.ts'
import { resultTones, requestsPanel, topMissesPanel } from './lists.ts'
import { withFilter, type LiveInput } from './live-filter.ts'
import { addEvent, byResult, perSecond, type Tail } from './tail.ts'

/** Requests of visitors as they end. `base`: the filter of the command, which a typed one narrows. */
export function liveTab(base: LiveInput = {}) {
  const plansOf = (input: LiveInput) => ({
    live: planFollow<typeof liveTraffic, Tail>('traffic.live', input, addEvent),
  })
  return defineTab({
    id: 'live',
    title: 'Live',
    plans: plansOf(base),
    search: (filter) => plansOf(withFilter(base, filter)),
    view({ feeds, values: { live }, time }) {
      const stale = unreachable(feeds['live'])
      if (live === null) {
        return {
          blocks: [block(0, () => [[span('Loading requests …', 'dim')]])],
          panels: [],
          stale,
          run: null,
          short: 'loading …',
        }
      }
      return {
        blocks: [rateBlock(live, time), resultsBlock(live, time), gap],
        panels: [requestsPanel(live), topMissesPanel(live)],
        lead: true,
        stale: stale ?? (live.processes === 0 ? 'STALE: no daemon is running' : null),
        run: null,
        short: liveInShort(live, time),
      }
    },
  })
}

/** The badge of a daemon that cannot be followed. Silence is no fault: there may be no visitors. */
function unreachable(feed: Feed | undefined): string | null {
  return feed === undefined || feed.error === null ? null : `STALE: ${feed.error}`
}

/** Requests per second, and their chart. */
function rateBlock(tail: Tail, time: number): Block {
  return block(0, (width) => {
    const counts = perSecond(tail, time)
    const figures: Line = [
      label('requests'),
      ...join(
        [
          [span(`${shortRate(recent(counts))}/s`, 'strong')],
          [span('peak ', 'dim'), span(`${shortRate(Math.max(0, ...counts))}/s`)],
          [span(formatCount(tail.total)), span(' since the start', 'dim')],
          [span(tail.processes === 1 ? '1 process' : `${tail.processes} processes`, 'dim')],
        ],
        width - labelWidth,
      ),
    ]
    const room = width - lineWidth(figures) - 3 - legend.length
    return room < 10
      ? [figures]
      : [[...figures, span('   '), span(sparkline(counts, Math.min(59, room)), 'accent'), span(legend, 'dim')]]
  })
}

const legend = '  1 min'

/** Seconds over which the current rate is averaged. */
const recentSeconds = 5

function recent(counts: readonly number[]): number {
  return counts.slice(-recentSeconds).reduce((sum, count) => sum + count, 0) / recentSeconds
}

/** What the visitors of the last minute got. */
function resultsBlock(tail: Tail, time: number): Block {
  return block(1, (width) => {
    const counts = byResult(tail, time)
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const parts: Line[] = [
      [span('hit ratio ', 'dim'), span(hitRatio(counts), 'good')],
      ...visitorResults.map((result): Line => [
        span(`${result} `, 'dim'),
        span(share(counts[result] ?? 0, all), (counts[result] ?? 0) === 0 ? 'dim' : resultTones[result]),
      ]),
    ]
    return [[label('1 min'), ...join(parts, width - labelWidth)]]
  })
}

/** Share of hits among the requests that the cache was asked for. */
function hitRatio({ hit = 0, stale = 0, miss = 0 }: Readonly<Record<string, number>>): string {
  return hit + stale + miss === 0 ? '-' : share(hit + stale, hit + stale + miss)
}

/** `123/s, hit ratio 93 %, 1,234 requests`. */
export function liveInShort(tail: Tail, time: number): string {
  return `${shortRate(recent(perSecond(tail, time)))}/s, hit ratio ${hitRatio(byResult(tail, time))}, ${formatCount(tail.total)} requests`
}
