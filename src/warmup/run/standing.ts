import type { RecordsDatabase, WarmupStatus } from '../../records/schema.ts'

/** Where the warmups stand as a whole. */
export interface WarmupStanding {
  runs: Record<WarmupStatus, number>
  /** Of those that are not over. */
  remaining: number
  failed: number
  urlsPerSecond: number
}

/** A run of which nobody has written for this long (milliseconds) is not being worked on, whatever rate was measured last. */
const quietFor = 30_000

/** `now` in milliseconds since the epoch. */
export async function readStanding(db: RecordsDatabase, now: number): Promise<WarmupStanding> {
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
  const standing: WarmupStanding = {
    runs: { running: 0, paused: 0, completed: 0, cancelled: 0, failed: 0 },
    remaining: 0,
    failed: 0,
    urlsPerSecond: 0,
  }
  for (const { status, count } of counted) standing.runs[status] = Number(count)
  for (const run of open) {
    standing.remaining += run.total_urls - run.processed_urls - run.failed_urls
    standing.failed += run.failed_urls
    if (run.status === 'running' && now - run.updated_at < quietFor) standing.urlsPerSecond += run.urls_per_second
  }
  return standing
}
