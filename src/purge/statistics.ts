import type { RecordsDatabase } from '../records/schema.ts'
import { toMilliseconds } from './purge-items.ts'
import { hourLength, hourOf, windowHours } from './rollups.ts'
import { topTags, type TopTag } from './top-tags.ts'

/** The purges of the last 24 hours: of the hour that runs and the 23 before it (spec 1, section 2). */
export interface PurgeStatistics {
  overview: { totalPurges: number; distinctUrls: number; distinctTags: number; avgResponseTime: number }
  hourly: { hour: string; purges: number }[]
  topTags: TopTag[]
}

const topTagCount = 20

/** Read from sums that are kept with each purge: as fast over ten million purges as over ten. `now`: milliseconds since the epoch. */
export async function readPurgeStatistics(db: RecordsDatabase, now: number): Promise<PurgeStatistics> {
  const last = hourOf(now)
  const first = last - windowHours + 1
  const hours = await db.selectFrom('purge_hours').selectAll().where('hour', '>=', first).where('hour', '<=', last).execute()
  const byHour = new Map(hours.map((row) => [row.hour, row.purges]))
  const responses = hours.reduce((sum, row) => sum + row.responses, 0)
  const time = hours.reduce((sum, row) => sum + row.response_time, 0)
  return {
    overview: {
      totalPurges: hours.reduce((sum, row) => sum + row.purges, 0),
      distinctUrls: await countKeys(db, 'url', first),
      distinctTags: await countKeys(db, 'tag', first),
      avgResponseTime: responses === 0 ? 0 : toMilliseconds(time / responses)!,
    },
    hourly: Array.from({ length: windowHours }, (_, index) => ({
      hour: new Date((first + index) * hourLength).toISOString(),
      purges: byHour.get(first + index) ?? 0,
    })),
    topTags: await topTags(db, last, topTagCount),
  }
}

/** A key belongs to the hour of its last purge, so no key is counted twice. */
async function countKeys(db: RecordsDatabase, kind: 'url' | 'tag', first: number): Promise<number> {
  const { count } = await db
    .selectFrom('purge_key_hours')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('keys'), eb.lit(0)).as('count'))
    .where('kind', '=', kind)
    .where('hour', '>=', first)
    .executeTakeFirstOrThrow()
  return count
}

/** What a reverse proxy has still to be told, and what it never was. */
export interface ProxyBacklog {
  name: string
  pending: number
  /** When the oldest of the pending purges was made; null where none is pending. */
  oldestPending: string | null
  failed: number
}

/** Of the configured proxies, and of those that are configured no more but were not told everything. */
export async function readBacklogs(db: RecordsDatabase, configured: readonly string[]): Promise<ProxyBacklog[]> {
  const counts = await db
    .selectFrom('purge_deliveries')
    .select(['proxy', (eb) => eb.fn.countAll<number>().as('count'), (eb) => eb.fn.min('purge_id').as('oldest')])
    .where('status', '=', 'pending')
    .groupBy('proxy')
    .execute()
  const failures = await db
    .selectFrom('purge_deliveries')
    .select(['proxy', (eb) => eb.fn.countAll<number>().as('count')])
    .where('status', '=', 'failed')
    .groupBy('proxy')
    .execute()
  const names = [...new Set([...configured, ...counts.map((row) => row.proxy), ...failures.map((row) => row.proxy)])]
  return Promise.all(
    names.map(async (name) => {
      const pending = counts.find((row) => row.proxy === name)
      const at = pending === undefined ? null : await madeAt(db, name, pending.oldest)
      return {
        name,
        pending: pending?.count ?? 0,
        oldestPending: at === null ? null : new Date(at).toISOString(),
        failed: failures.find((row) => row.proxy === name)?.count ?? 0,
      }
    }),
  )
}

async function madeAt(db: RecordsDatabase, proxy: string, purge: number): Promise<number | null> {
  const row = await db.selectFrom('purge_deliveries').select('created_at').where('proxy', '=', proxy).where('purge_id', '=', purge).executeTakeFirst()
  return row?.created_at ?? null
}
