import { formatBytes } from '../lib/format-bytes.ts'
import { formatCount, formatMs } from '../lib/format.ts'
import type { Traffic, TrafficTotals } from '../operations/traffic.ts'
import { drawChart, isWorthDrawing } from './chart.ts'
import { presentList, type Column } from './list.ts'
import type { Output } from './output.ts'

export const groupings = ['type', 'channel', 'result'] as const
export type Grouping = (typeof groupings)[number]

type Group = TrafficTotals & { name: string }

/**
 * Prints what visitors got: totals, groups, the most frequent misses, and a chart of the requests; in a pipe, the groups and the series.
 *
 * @param channels names of sales channels by their IDs
 */
export async function presentTraffic(
  value: Traffic,
  by: Grouping,
  output: Output,
  channels: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const { totals } = value
  if (totals.requests === 0) return output.prose(`No requests from ${inUtc(value.from)} to ${inUtc(value.to)} UTC.`)
  output.pairs([
    ['Requests', formatCount(totals.requests)],
    ['Hit ratio', formatRatio(totals.hitRatio)],
    ['Sent', formatBytes(totals.bytes)],
    ['95th percentile', showMs(totals.p95)],
    ['Shop, 95th percentile', showMs(totals.originP95)],
    ['Shop, in total', formatMs(totals.originTime)],
    ['Server errors', totals.statuses['5xx']],
  ])
  output.line()
  const items = groupsOf(value, by).filter(({ requests }) => !output.terminal || requests > 0)
  await presentList({ columns: columnsOf(by, channels), items, noun: by, empty: '' }, output, null)
  output.line()
  if (output.terminal) return presentCharts(value, output)
  await output.table(
    [value.bucket, 'requests', 'hit ratio'],
    value.series.map((point) => [point.at, point.requests, formatRatio(point.hitRatio)]),
  )
}

function groupsOf({ byType, byChannel, byResult }: Traffic, by: Grouping): Group[] {
  if (by === 'channel') return byChannel.map((group) => ({ ...group, name: group.salesChannelId }))
  if (by === 'result') return byResult.map((group) => ({ ...group, name: group.result }))
  return byType.map((group) => ({ ...group, name: group.type }))
}

function columnsOf(by: Grouping, channels: ReadonlyMap<string, string>): readonly Column<Group>[] {
  return [
    { name: by, value: ({ name }) => name, ...(by === 'channel' && { kind: 'id' as const }) },
    ...(channels.size === 0
      ? []
      : [{ name: 'name', value: ({ name }: Group) => channels.get(name) ?? null, kind: 'text' as const }]),
    { name: 'requests', value: ({ requests }) => requests },
    // Each result is either a hit or none.
    ...(by === 'result'
      ? []
      : [
          {
            name: 'hit ratio',
            value: (group: Group) => group.hitRatio,
            show: (group: Group) => formatRatio(group.hitRatio),
          },
        ]),
    { name: 'sent', value: ({ bytes }) => bytes, show: ({ bytes }) => formatBytes(bytes) },
    { name: 'p95', value: ({ p95 }) => p95, show: ({ p95 }) => showMs(p95) },
    {
      name: 'shop',
      value: ({ originTime }) => originTime,
      show: ({ originTime }) => formatMs(originTime),
      minor: true,
    },
    { name: '4xx', value: ({ statuses }) => statuses['4xx'], minor: true },
    { name: '5xx', value: ({ statuses }) => statuses['5xx'], minor: true },
  ]
}

const missColumns: readonly Column<Traffic['topMisses'][number]>[] = [
  { name: 'misses', value: ({ requests }) => requests },
  { name: 'path', value: ({ path }) => path, kind: 'url' },
  { name: 'reason', value: ({ reason }) => reason, kind: 'text' },
]

async function presentCharts({ series, bucket, topMisses }: Traffic, output: Output): Promise<void> {
  if (topMisses.length > 0) {
    output.prose('Most frequent misses:')
    await presentList({ columns: missColumns, items: topMisses.slice(0, 5), noun: 'path', empty: '' }, output, null)
    output.line()
  }
  const size = { width: Math.min(output.columns, 120), height: 6 }
  const points = series.map(({ at, requests }) => ({ label: inUtc(at), value: requests }))
  if (!isWorthDrawing(points)) {
    const { label } = points.find(({ value }) => value > 0)!
    const finer = bucket === 'minute' ? '' : ' To see their minutes: pagecache cache:traffic --since 1h'
    return output.prose(`All of them from ${label} UTC on, within ${bucket === 'hour' ? 'an' : 'a'} ${bucket}.${finer}`)
  }
  output.prose(`Requests by ${bucket} (UTC):`)
  for (const line of drawChart(points, size)) output.line(line)
}

/** `2026-11-21 12:00` */
function inUtc(stamp: string): string {
  return stamp.slice(0, 16).replace('T', ' ')
}

/** `93.4 %`; `-` where nothing could be a hit. */
export function formatRatio(share: number | null): string {
  return share === null ? '-' : `${(share * 100).toFixed(1)} %`
}

function showMs(ms: number | null): string {
  return ms === null ? '-' : formatMs(ms)
}
