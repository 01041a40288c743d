import type { WarmupRunRow, WarmupStatus } from '../../records/schema.ts'

/** The public progress record of a warmup. Times are ISO 8601 in UTC. */
export interface WarmupProgress {
  id: string
  status: WarmupStatus
  sales_channel_id: string | null
  batch_size: number
  /** Concurrent requests per origin, as set for this run; null: as configured. */
  concurrency: number | null
  total_urls: number
  checked_urls: number
  processed_urls: number
  skipped_urls: number
  failed_urls: number
  remaining_urls: number
  percentage: number
  urls_per_second: number
  eta_seconds: number | null
  message: string | null
  created_at: string
  updated_at: string
  finished_at: string | null
}

export function toProgress(run: WarmupRunRow): WarmupProgress {
  const done = run.processed_urls + run.failed_urls
  const remaining = run.total_urls - done
  return {
    id: run.id,
    status: run.status,
    sales_channel_id: run.sales_channel_id,
    batch_size: run.batch_size,
    concurrency: run.concurrency,
    total_urls: run.total_urls,
    checked_urls: run.checked_urls,
    processed_urls: run.processed_urls,
    skipped_urls: run.skipped_urls,
    failed_urls: run.failed_urls,
    remaining_urls: remaining,
    percentage: percentage(done, run.total_urls, run.status),
    urls_per_second: round(run.urls_per_second),
    eta_seconds: etaSeconds(remaining, run),
    message: run.message,
    created_at: new Date(run.created_at).toISOString(),
    updated_at: new Date(run.updated_at).toISOString(),
    finished_at: run.finished_at === null ? null : new Date(run.finished_at).toISOString(),
  }
}

/** URLs per second since the start, without pauses. `now`: milliseconds since the epoch. */
export function averageRate(run: WarmupRunRow, now: number): number {
  const end = run.finished_at ?? run.paused_at ?? now
  const seconds = (end - run.created_at - run.paused_for) / 1000
  return seconds > 0 ? round((run.processed_urls + run.failed_urls) / seconds) : 0
}

/** The percentage of finished URLs, with two decimals. It is 100 for completed runs only, and for those without URLs too. */
export function percentage(done: number, total: number, status: WarmupStatus): number {
  if (status === 'completed') return 100
  // The requests in flight at a pause may have been the last ones: all URLs are done, but the run is not completed.
  return total === 0 ? 0 : Math.min(99.99, round((done * 100) / total))
}

function etaSeconds(remaining: number, run: WarmupRunRow): number | null {
  if (run.status !== 'running') return null
  if (remaining === 0) return 0
  return run.urls_per_second > 0 ? Math.ceil(remaining / run.urls_per_second) : null
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** An exponentially weighted rate over about half a minute. Times are monotonic milliseconds. */
export interface Rate {
  perSecond: number
  done: number
  at: number
  since: number
}

/** Time constant in milliseconds: anything older has a weight of about a third in total. */
const rateWindow = 30_000

export function startRate(done: number, at: number): Rate {
  return { perSecond: 0, done, at, since: at }
}

/** Updates a rate with the number done so far. In the first half minute it is the plain average. */
export function updateRate(rate: Rate, done: number, at: number): Rate {
  const span = at - rate.at
  if (span <= 0) return rate
  const current = ((done - rate.done) * 1000) / span
  const weight = Math.max(1 - Math.exp(-span / rateWindow), span / (at - rate.since))
  return { ...rate, perSecond: rate.perSecond + (current - rate.perSecond) * weight, done, at }
}
