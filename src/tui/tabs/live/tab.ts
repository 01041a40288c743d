import type { liveTraffic } from '../../../operations/traffic-live.ts'
import { visitorResults } from '../../../operations/traffic-live.ts'
import { formatCount } from '../../../lib/format.ts'
import { block, emptyView, gap, label, labelWidth } from '../../block.ts'
import { chartLines, chartsFrom } from '../../charts.ts'
import { planFollow, type Feed } from '../../feed.ts'
import type { Block } from '../../panel.ts'
import { defineTab } from '../../tab.ts'
import { percent, share, shortMs, shortRate } from '../../text/amount.ts'
import { sparkline } from '../../text/chart.ts'
import { join, lineWidth, span, type Line } from '../../text/line.ts'
import { resultTones, requestsPanel, topMissesPanel } from './lists.ts'
import { withFilter, type LiveInput } from './live-filter.ts'
import { addEvent, byResult, hitRatio, lastSeconds, type Tail } from './tail.ts'

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
    view({ feeds, values: { live }, now }) {
      const stale = unreachable(feeds['live'])
      if (live === null) return emptyView('Loading requests …', stale)
      return {
        blocks: [rateBlock(live, now), resultsBlock(live, now), chartsBlock(live, now), gap],
        panels: [requestsPanel(live), topMissesPanel(live)],
        lead: true,
        stale: stale ?? (live.processes === 0 ? 'STALE: no daemon is running' : null),
        run: null,
        short: liveInShort(live, now),
      }
    },
  })
}

/** The badge of a daemon that cannot be followed. Silence is no fault: there may be no visitors. */
function unreachable(feed: Feed | undefined): string | null {
  return feed === undefined || feed.error === null ? null : `STALE: ${feed.error}`
}

/** Requests per second, and their chart. */
function rateBlock(tail: Tail, now: number): Block {
  return block(0, (width) => {
    const counts = perSecond(tail, now)
    const figures: Line = [
      label('requests'),
      ...join(
        [
          [span(`${shortRate(recent(counts))}/s`, 'strong')],
          [span('peak ', 'dim'), span(`${shortRate(Math.max(0, ...counts))}/s`)],
          [span(formatCount(tail.total)), span(' since the start', 'dim')],
          [span(tail.processes === 1 ? '1 process' : `${tail.processes} processes`, 'dim')],
          ...(tail.node === null ? [] : [[span('node ', 'dim'), span(tail.node)]]),
        ],
        width - labelWidth,
      ),
    ]
    const room = width - lineWidth(figures) - 3 - legend.length
    if (room < 10 || width >= chartsFrom) return [figures]
    return [[...figures, span('   '), span(sparkline(counts, Math.min(59, room)), 'accent'), span(legend, 'dim')]]
  })
}

const legend = '  1 min'

/** Charts of the last minute, where there is room. */
function chartsBlock(tail: Tail, now: number): Block {
  return block(3, (width, rows) => {
    if (width < chartsFrom) return []
    const seconds = lastSeconds(tail, now)
    const counts = seconds.map(({ requests }) => requests)
    const slowest = seconds.map((each) => each.slowest)
    const [fastest, longest] = [Math.max(0, ...counts), Math.max(0, ...slowest)]
    const ratios = seconds.map(({ shown }) => hitRatio(shown) ?? 0)
    return chartLines(
      '1 min',
      [
        { name: `requests per second, peak ${shortRate(fastest)}`, values: counts, most: fastest, tone: 'accent' },
        { name: 'hit ratio, 0 to 100 %', values: ratios, most: 1, tone: 'good' },
        { name: `slowest request, peak ${shortMs(longest)}`, values: slowest, most: longest, tone: 'warn' },
      ],
      width,
      rows,
    )
  })
}

function perSecond(tail: Tail, now: number): number[] {
  return lastSeconds(tail, now).map(({ requests }) => requests)
}

/** Seconds over which the current rate is averaged. */
const recentSeconds = 5

function recent(counts: readonly number[]): number {
  return counts.slice(-recentSeconds).reduce((sum, count) => sum + count, 0) / recentSeconds
}

/** What the visitors of the last minute got. */
function resultsBlock(tail: Tail, now: number): Block {
  return block(1, (width) => {
    const counts = byResult(tail, now)
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const parts: Line[] = [
      [span('hit ratio ', 'dim'), span(percent(hitRatio(counts)), 'good')],
      ...visitorResults.map((result): Line => [
        span(`${result} `, 'dim'),
        span(share(counts[result] ?? 0, all), (counts[result] ?? 0) === 0 ? 'dim' : resultTones[result]),
      ]),
    ]
    return [[label('results'), ...join(parts, width - labelWidth)]]
  })
}

/** `123/s, hit ratio 93 %, 1,234 requests`. */
export function liveInShort(tail: Tail, now: number): string {
  return `${shortRate(recent(perSecond(tail, now)))}/s, hit ratio ${percent(hitRatio(byResult(tail, now)))}, ${formatCount(tail.total)} requests`
}
