import type { RecordsDatabase, WarmupStatus } from '../../records/schema.ts'

/** Totals over all warmup runs. */
export interface WarmupSummary {
  runs: Record<WarmupStatus, number>
  /** Unfinished URLs of running and paused runs. */
  remaining: number
  /** Failed URLs of running and paused runs. */
  failed: number
  urlsPerSecond: number
}

/** A run without a save for this long (milliseconds) has no active worker, so its last measured rate is ignored. */
const staleAfter = 30_000

/** Reads the totals. @param now milliseconds since the epoch */
export async function readWarmupSummary(db: RecordsDatabase, now: number): Promise<WarmupSummary> {
  const counted = await db
    .selectFrom('warmup_runs')
    .select(({ fn }) => ['status', fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  const open = await db
    .selectFrom('warmup_runs')
    .select(['status', 'total_urls', 'processed_urls', 'failed_urls', 'urls_per_second', 'updated_at'])
    .where('status', 'in', ['running', 'paused'])
    .execute()
  const standing: WarmupSummary = {
    runs: { running: 0, paused: 0, completed: 0, cancelled: 0, failed: 0 },
    remaining: 0,
    failed: 0,
    urlsPerSecond: 0,
  }
  for (const { status, count } of counted) standing.runs[status] = Number(count)
  for (const run of open) {
    standing.remaining += run.total_urls - run.processed_urls - run.failed_urls
    standing.failed += run.failed_urls
    if (run.status === 'running' && now - run.updated_at < staleAfter) standing.urlsPerSecond += run.urls_per_second
  }
  return standing
}
