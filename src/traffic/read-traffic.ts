import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { dayLength, hourLength } from '../lib/moment.ts'
import type { TrafficRow } from '../records/traffic-rows.ts'
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

type Bucket = 'minute' | 'hour' | 'day'

const minuteLength = 60_000
const lengths: Record<Bucket, number> = { minute: minuteLength, hour: hourLength, day: dayLength }

/** Longest range that is shown by the minute and by the hour unless a bucket is given, in milliseconds. */
const longestByMinute = 3 * hourLength
const longestByHour = 7 * dayLength

/** Rows that are read at once, which takes a few milliseconds; other work goes on between the slices. */
const rowsAtOnce = 1000

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

interface TrafficMiss {
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

type Table = 'traffic_minutes' | 'traffic_hours'

/**
 * Reads what visitors got in a range, which is widened to whole buckets.
 *
 * @param now milliseconds since the epoch
 * @throws INVALID_INPUT for a range that ends before it starts, or for which no counts are kept
 */
export async function readTraffic(db: RecordsDatabase, asked: TrafficQuestion, now: number): Promise<TrafficReport> {
  const bucket = asked.bucket ?? bucketFor(asked.to - asked.from)
  assertKept(asked, bucket, now)
  const length = lengths[bucket]
  const from = Math.floor(asked.from / length) * length
  const to = Math.max(from + length, Math.ceil(asked.to / length) * length)
  const table: Table = bucket === 'minute' ? 'traffic_minutes' : 'traffic_hours'
  const unit = bucket === 'minute' ? minuteLength : hourLength
  const series = new Map<number, AmountsByResult>()
  for (let at = from; at < to; at += length) series.set(at, {})
  const types = new Map<string, AmountsByResult>()
  const channels = new Map<string, AmountsByResult>()
  for await (const rows of slicesOf(db, table, { ...asked, first: from / unit, end: to / unit })) {
    for (const row of rows) {
      const { result } = row
      if (!isVisitorResult(result)) continue
      addAmounts(groupOf(series, Math.floor((row.start * unit) / length) * length), result, row)
      addAmounts(groupOf(types, row.type), result, row)
      addAmounts(groupOf(channels, row.channel_id), result, row)
    }
  }
  const totals = sumOf(types.values())
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    bucket,
    totals: summarise(totals),
    series: [...series].map(([at, byResult]) => ({ at: new Date(at).toISOString(), ...summarise(byResult) })),
    byType: sorted(types).map(([type, byResult]) => ({ type, ...summarise(byResult) })),
    byChannel: sorted(channels).map(([salesChannelId, byResult]) => ({
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

function sumOf(groups: Iterable<AmountsByResult>): AmountsByResult {
  const sum: AmountsByResult = {}
  for (const byResult of groups)
    for (const result of visitorResults) {
      const amounts = byResult[result]
      if (amounts !== undefined) addAmounts(sum, result, amounts)
    }
  return sum
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

/** Reads the rows of a range in slices of whole minutes or hours. `end` is exclusive. */
async function* slicesOf(
  db: RecordsDatabase,
  table: Table,
  { first, end, type, salesChannelId }: TrafficQuestion & { first: number; end: number },
): AsyncGenerator<TrafficRow[]> {
  let length = 1
  for (let start = first; start < end;) {
    let query = db
      .selectFrom(table)
      .selectAll()
      .where('start', '>=', start)
      .where('start', '<', Math.min(end, start + length))
    if (type !== undefined) query = query.where('type', '=', type)
    if (salesChannelId !== undefined) query = query.where('channel_id', '=', salesChannelId)
    const rows = await query.execute()
    yield rows
    start += length
    // At most doubled: the next hours may have more traffic.
    length = Math.max(1, Math.min(length * 2, Math.floor((length * rowsAtOnce) / Math.max(1, rows.length))))
    await yieldToOthers()
  }
}

function groupOf<Key>(groups: Map<Key, AmountsByResult>, key: Key): AmountsByResult {
  let group = groups.get(key)
  if (group === undefined) groups.set(key, (group = {}))
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
