import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { amountColumns, type TrafficAmounts } from '../records/traffic-rows.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import {
  addAmounts,
  isVisitorResult,
  noTraffic,
  summarise,
  type AmountsByResult,
  type TrafficSummary,
} from './summary.ts'
import { visitorResults } from './traffic.ts'
import { hoursKept, minutesKept } from './write-traffic.ts'

export const buckets = ['minute', 'hour', 'day'] as const
export type Bucket = (typeof buckets)[number]

const minuteLength = 60_000
const hourLength = 3_600_000
const lengths: Record<Bucket, number> = { minute: minuteLength, hour: hourLength, day: 24 * hourLength }

/** Longest range that is shown by the minute and by the hour unless a bucket is given, in milliseconds. */
const longestByMinute = 3 * hourLength
const longestByHour = 7 * 24 * hourLength

/** Rows of this many minutes or hours are read at once: other work goes on between them. */
const sliceLength = { traffic_minutes: 120, traffic_hours: 24 } as const

/** Most of the most frequent misses. */
const mostMisses = 20

export interface TrafficQuestion {
  /** Milliseconds since the epoch. */
  from: number
  to: number
  bucket: Bucket | null
  type?: string | undefined
  salesChannelId?: string | undefined
}

export interface TrafficMiss {
  path: string
  salesChannelId: string
  reason: string
  requests: number
  /** Milliseconds. */
  originTime: number
}

export interface TrafficReport {
  from: string
  to: string
  bucket: Bucket
  totals: TrafficSummary
  series: ({ at: string } & TrafficSummary)[]
  byType: ({ type: string } & TrafficSummary)[]
  byChannel: ({ salesChannelId: string } & TrafficSummary)[]
  byResult: ({ result: string } & TrafficSummary)[]
  topMisses: TrafficMiss[]
}

type Table = keyof typeof sliceLength
type Row = TrafficAmounts & { result: string }

/**
 * Reads what visitors got in a range, which is widened to whole buckets.
 *
 * @param now milliseconds since the epoch
 * @throws INVALID_INPUT for a range that ends before it starts, or of which no counts are kept
 */
export async function readTraffic(db: RecordsDatabase, asked: TrafficQuestion, now: number): Promise<TrafficReport> {
  const bucket = asked.bucket ?? bucketFor(asked.to - asked.from)
  assertKept(asked, bucket, now)
  const length = lengths[bucket]
  const from = Math.floor(asked.from / length) * length
  const to = Math.max(from + length, Math.ceil(asked.to / length) * length)
  const table: Table = bucket === 'minute' ? 'traffic_minutes' : 'traffic_hours'
  const unit = bucket === 'minute' ? minuteLength : hourLength
  const range = { first: from / unit, end: to / unit }
  const series = new Map<number, AmountsByResult>()
  for (let at = from; at < to; at += length) series.set(at, {})
  const groups = { type: new Map<string, AmountsByResult>(), channel_id: new Map<string, AmountsByResult>() }
  const totals: AmountsByResult = {}
  for (let first = range.first; first < range.end; first += sliceLength[table]) {
    const slice = { ...asked, first, end: Math.min(range.end, first + sliceLength[table]) }
    for (const row of await readSums(db, table, slice, 'start')) {
      add(series.get(Math.floor((Number(row.group) * unit) / length) * length) ?? {}, row)
      add(totals, row)
    }
    for (const name of ['type', 'channel_id'] as const)
      for (const row of await readSums(db, table, slice, name)) add(groupOf(groups[name], String(row.group)), row)
    await yieldToOthers()
  }
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    bucket,
    totals: summarise(totals),
    series: [...series].map(([at, byResult]) => ({ at: new Date(at).toISOString(), ...summarise(byResult) })),
    byType: sorted(groups.type).map(([type, byResult]) => ({ type, ...summarise(byResult) })),
    byChannel: sorted(groups.channel_id).map(([salesChannelId, byResult]) => ({
      salesChannelId,
      ...summarise(byResult),
    })),
    byResult: visitorResults.map((result) => ({
      result,
      ...(totals[result] === undefined ? noTraffic : summarise({ [result]: totals[result] })),
    })),
    topMisses: await readMisses(db, asked, { first: Math.floor(from / hourLength), end: Math.ceil(to / hourLength) }),
  }
}

function bucketFor(range: number): Bucket {
  return range <= longestByMinute ? 'minute' : range <= longestByHour ? 'hour' : 'day'
}

function assertKept({ from, to }: TrafficQuestion, bucket: Bucket, now: number): void {
  if (from >= to) throw new PagecacheError('INVALID_INPUT', 'from: must be before to')
  const kept = bucket === 'minute' ? minutesKept * minuteLength : hoursKept * hourLength
  // A question about the last two days takes a moment to arrive.
  const earliest = now - kept - lengths[bucket]
  if (from >= earliest) return
  throw new PagecacheError(
    'INVALID_INPUT',
    bucket === 'minute'
      ? 'from: minutes are kept for 48 hours; ask for hours or days of earlier times'
      : 'from: traffic is kept for 400 days',
  )
}

interface Slice extends TrafficQuestion {
  first: number
  end: number
}

function readSums(
  db: RecordsDatabase,
  table: Table,
  { first, end, type, salesChannelId }: Slice,
  group: 'start' | 'type' | 'channel_id',
): Promise<(Row & { group: string | number })[]> {
  let query = db
    .selectFrom(table)
    .select([`${group} as group`, 'result'])
    .select((eb) => amountColumns.map((column) => eb.fn.sum<number>(column).as(column)))
    .where('start', '>=', first)
    .where('start', '<', end)
    .groupBy([group, 'result'])
  if (type !== undefined) query = query.where('type', '=', type)
  if (salesChannelId !== undefined) query = query.where('channel_id', '=', salesChannelId)
  return query.execute()
}

function add(byResult: AmountsByResult, { result, ...row }: Row & { group?: unknown }): void {
  if (isVisitorResult(result)) addAmounts(byResult, result, amountsIn(row))
}

function amountsIn(row: TrafficAmounts): TrafficAmounts {
  return Object.fromEntries(amountColumns.map((column) => [column, Number(row[column])])) as unknown as TrafficAmounts
}

function groupOf(groups: Map<string, AmountsByResult>, name: string): AmountsByResult {
  let group = groups.get(name)
  if (group === undefined) groups.set(name, (group = {}))
  return group
}

/** The groups with the most requests first. */
function sorted(groups: Map<string, AmountsByResult>): [string, AmountsByResult][] {
  const requests = (byResult: AmountsByResult) => Object.values(byResult).reduce((sum, each) => sum + each.requests, 0)
  return [...groups].toSorted(([, one], [, other]) => requests(other) - requests(one))
}

async function readMisses(
  db: RecordsDatabase,
  { salesChannelId }: TrafficQuestion,
  { first, end }: { first: number; end: number },
): Promise<TrafficMiss[]> {
  let query = db
    .selectFrom('traffic_misses')
    .select(['path', 'channel_id as salesChannelId', 'reason'])
    .select((eb) => [eb.fn.sum<number>('requests').as('requests'), eb.fn.sum<number>('origin_us').as('originTime')])
    .where('hour', '>=', first)
    .where('hour', '<', end)
    .groupBy(['path', 'channel_id', 'reason'])
    .orderBy('requests', 'desc')
    .orderBy('path')
    .limit(mostMisses)
  if (salesChannelId !== undefined) query = query.where('channel_id', '=', salesChannelId)
  const rows = await query.execute()
  return rows.map((row) => ({ ...row, requests: Number(row.requests), originTime: Number(row.originTime) / 1000 }))
}
