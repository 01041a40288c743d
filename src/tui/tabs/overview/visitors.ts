import { formatCount } from '../../../lib/format.ts'
import type { Traffic } from '../../../operations/traffic.ts'
import { block, label, labelWidth } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { shortMs, shortRate } from '../../text/amount.ts'
import { sparkline } from '../../text/chart.ts'
import { join, span, type Line } from '../../text/line.ts'

/** The counts of the current minute are incomplete. */
const finished = ({ series }: Traffic) => series.slice(0, -1)

/** `93.4 %`; `-` without any request for a page. */
function percent(ratio: number | null): string {
  return ratio === null ? '-' : `${(ratio * 100).toFixed(1)} %`
}

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
  return block(3, (width) => {
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

/** Cells for the names of the two charts. */
const namesWidth = 24

export function visitorsInShort(hour: Traffic, day: Traffic): string {
  const { totals } = hour
  return `${shortRate(rate(hour))}/s, hit ratio ${percent(totals.hitRatio)} in 1 h and ${percent(day.totals.hitRatio)} in 24 h, shop p95 ${shortMs(totals.originP95)}, ${formatCount(totals.statuses['5xx'])} 5xx`
}
