import { amountColumns, latencyColumns, statusColumns, type TrafficAmounts } from '../records/traffic-rows.ts'
import { durationBounds, visitorResults, type VisitorResult } from './traffic.ts'

/** Amounts by result; a result without requests is missing. */
export type AmountsByResult = Partial<Record<VisitorResult, TrafficAmounts>>

/** What visitors got in some time. Durations in milliseconds. */
export interface TrafficSummary {
  requests: number
  hits: number
  stale: number
  misses: number
  passes: number
  errors: number
  /** Share of the requests that the cache was asked for, 0 to 1; null without any. */
  hitRatio: number | null
  bytes: number
  /** Time that the shop took. */
  originTime: number
  /** Time until the answers began. */
  servedTime: number
  /** Latency that 95 of 100 requests did not exceed; null without requests. */
  p95: number | null
  /** Latency that 95 of 100 requests answered by the shop did not exceed; null without such requests. */
  originP95: number | null
  statuses: Record<StatusClass, number>
}

type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx'

export function summarise(byResult: AmountsByResult): TrafficSummary {
  const all = Object.values(byResult)
  const sum = (column: keyof TrafficAmounts) => all.reduce((total, amounts) => total + amounts[column], 0)
  const requests = (result: VisitorResult) => byResult[result]?.requests ?? 0
  const served = requests('hit') + requests('stale')
  const cacheable = served + requests('miss')
  const asked = [byResult.miss, byResult.pass].filter((amounts) => amounts !== undefined)
  return {
    requests: sum('requests'),
    hits: requests('hit'),
    stale: requests('stale'),
    misses: requests('miss'),
    passes: requests('pass'),
    errors: requests('error'),
    hitRatio: cacheable === 0 ? null : served / cacheable,
    bytes: sum('bytes'),
    originTime: sum('origin_us') / 1000,
    servedTime: sum('served_us') / 1000,
    p95: quantile(all, 0.95),
    originP95: quantile(asked, 0.95),
    statuses: Object.fromEntries(statusColumns.map((column) => [column.slice(-3), sum(column)])) as Record<
      StatusClass,
      number
    >,
  }
}

export const noTraffic: TrafficSummary = summarise({})

/** Adds amounts to those of a result. */
export function addAmounts(byResult: AmountsByResult, result: VisitorResult, amounts: TrafficAmounts): void {
  const sum = (byResult[result] ??= { ...noAmounts })
  for (const column of amountColumns) sum[column] += amounts[column]
}

const noAmounts = Object.fromEntries(amountColumns.map((column) => [column, 0])) as unknown as TrafficAmounts

export function isVisitorResult(text: string): text is VisitorResult {
  return (visitorResults as readonly string[]).includes(text)
}

/** A quantile in milliseconds, interpolated in its bucket as Prometheus does; null without requests. */
function quantile(all: readonly TrafficAmounts[], share: number): number | null {
  const buckets = latencyColumns.map((column) => all.reduce((total, amounts) => total + amounts[column], 0))
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = share * total
  let below = 0
  for (const [index, count] of buckets.entries()) {
    const [floor, bound] = [durationBounds[index - 1] ?? 0, durationBounds[index]]
    if (bound === undefined) break
    if (count > 0 && below + count >= rank) return (floor + ((bound - floor) * (rank - below)) / count) * 1000
    below += count
  }
  return durationBounds.at(-1)! * 1000
}
