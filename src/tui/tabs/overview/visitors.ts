import { formatCount } from '../../../lib/format.ts'
import { readableUrl } from '../../../lib/safe-text.ts'
import type { Traffic } from '../../../operations/traffic.ts'
import { block, label, labelWidth } from '../../block.ts'
import { chartLines, chartsFrom } from '../../charts.ts'
import type { Block, Panel, Row } from '../../panel.ts'
import { percent, shortMs, shortRate } from '../../text/amount.ts'
import { sparkline } from '../../text/chart.ts'
import { join, span, type Line } from '../../text/line.ts'
import { cutUrl, padEnd, padStart } from '../../text/width.ts'

/** The counts of the current minute are incomplete. */
const finished = ({ series }: Traffic) => series.slice(0, -1)

/** Requests per second in the last whole minute. */
function rate(hour: Traffic): number {
  return (finished(hour).at(-1)?.requests ?? 0) / 60
}

export function visitorBlocks(hour: Traffic, day: Traffic): Block[] {
  return [figures(hour, day), charts(hour)]
}

function figures(hour: Traffic, day: Traffic): Block {
  const { hitRatio, originP95, statuses } = hour.totals
  const parts: Line[] = [
    [span(`${shortRate(rate(hour))}/s`, 'strong')],
    [
      span('hit ratio ', 'dim'),
      span(percent(hitRatio), 'good'),
      span(' in 1 h, ', 'dim'),
      span(percent(day.totals.hitRatio)),
      span(' in 24 h', 'dim'),
    ],
    [span('shop p95 ', 'dim'), span(shortMs(originP95))],
    [span('5xx ', 'dim'), span(formatCount(statuses['5xx']), statuses['5xx'] > 0 ? 'bad' : 'dim')],
    [span('4xx ', 'dim'), span(formatCount(statuses['4xx']), 'dim')],
  ]
  return block(0, (width) => [[label('visitors'), ...join(parts, width - labelWidth)]])
}

/** Requests and hit ratio by minute. */
function charts(hour: Traffic): Block {
  const points = finished(hour)
  return block(3, (width, rows) => {
    if (width >= chartsFrom) return wideCharts(points, width, rows)
    const room = Math.max(8, Math.min(60, Math.floor((width - labelWidth - namesWidth) / 2)))
    const chart = (values: readonly number[]) => sparkline(values, room)
    return [
      [
        label('1 h'),
        span(chart(points.map(({ requests }) => requests)), 'accent'),
        span(' requests  ', 'dim'),
        span(chart(points.map(({ hitRatio }) => hitRatio ?? 0)), 'good'),
        span(' hit ratio', 'dim'),
      ],
    ]
  })
}

/** Rate, hit ratio and latency by minute, side by side. */
function wideCharts(points: Traffic['series'], width: number, rows: number): Line[] {
  const rates = points.map(({ requests }) => requests / 60)
  const latencies = points.map(({ p95 }) => p95 ?? 0)
  const [fastest, slowest] = [Math.max(0, ...rates), Math.max(0, ...latencies)]
  const shown = [
    { name: `requests per second, peak ${shortRate(fastest)}`, values: rates, most: fastest, tone: 'accent' },
    { name: 'hit ratio, 0 to 100 %', values: points.map(({ hitRatio }) => hitRatio ?? 0), most: 1, tone: 'good' },
    { name: `95th percentile, peak ${shortMs(slowest)}`, values: latencies, most: slowest, tone: 'warn' },
  ] as const
  return chartLines('1 h', shown, width, rows)
}

/** Paths that visitors miss most, and why. */
export function missesPanel({ topMisses }: Traffic): Panel {
  const hosts = new Set(topMisses.map(({ path }) => hostOf(path)))
  const rows = topMisses.map(({ path, reason, requests, originTime }): Row => {
    // The host says something only where there are several.
    const shown = hosts.size > 1 ? path : path.slice(hostOf(path).length)
    const line = (width: number): Line => {
      const why = whyCells(width)
      return [
        span(padStart(formatCount(requests), 8), 'strong'),
        span(padStart(shortMs(requests === 0 ? null : originTime / requests), 8)),
        span('  '),
        span(padEnd(reason, why), 'dim'),
        span('  '),
        span(cutUrl(shown, Math.max(1, width - why - 20))),
      ]
    }
    const facts = [
      ['Path', readableUrl(path)],
      ['Reason', reason],
      ['Misses', formatCount(requests)],
      ['Shop', `${shortMs(originTime)} in total`],
    ] as const
    return {
      id: `${path} ${reason}`,
      line,
      text: `${path} ${reason}`,
      status: null,
      ms: null,
      bad: false,
      detail: { title: 'Frequent miss', url: null, facts },
    }
  })
  const head = (width: number) => [
    span(`${padStart('misses', 8)}${padStart('shop', 8)}  ${padEnd('reason', whyCells(width))}  path`),
  ]
  return { id: 'misses', title: 'Misses, last hour', total: null, rows, head, empty: 'No misses in the last hour.' }
}

/** The host before the path. */
function hostOf(path: string): string {
  return /^[^/]*/.exec(path)![0]
}

/** Cells of the reason of a miss. */
function whyCells(width: number): number {
  return Math.min(36, Math.floor(width / 3))
}

/** Cells for the names of the two charts. */
const namesWidth = 24

export function visitorsInShort(hour: Traffic, day: Traffic): string {
  const { totals } = hour
  return `${shortRate(rate(hour))}/s, hit ratio ${percent(totals.hitRatio)} in 1 h and ${percent(day.totals.hitRatio)} in 24 h, shop p95 ${shortMs(totals.originP95)}, ${formatCount(totals.statuses['5xx'])} 5xx`
}
