import type { RecordsDatabase, WarmupStatus } from '../records/schema.ts'

/** Where the warmups stand as a whole. */
export interface WarmupStanding {
  runs: Partial<Record<WarmupStatus, number>>
  /** Of those that are not over. */
  remaining: number
  failed: number
  urlsPerSecond: number
}

export async function readStanding(db: RecordsDatabase): Promise<WarmupStanding> {
  const counted = await db
    .selectFrom('warmup_runs')
    .select(({ fn }) => ['status', fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  const open = await db.selectFrom('warmup_runs').select(['status', 'total_urls', 'processed_urls', 'failed_urls', 'urls_per_second']).where('status', 'in', ['running', 'paused']).execute()
  const standing: WarmupStanding = { runs: Object.fromEntries(counted.map(({ status, count }) => [status, Number(count)])), remaining: 0, failed: 0, urlsPerSecond: 0 }
  for (const run of open) {
    standing.remaining += run.total_urls - run.processed_urls - run.failed_urls
    standing.failed += run.failed_urls
    if (run.status === 'running') standing.urlsPerSecond += run.urls_per_second
  }
  return standing
}
