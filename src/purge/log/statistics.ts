import type { RecordsDatabase } from '../../records/schema.ts'
import { toMilliseconds } from './purge-items.ts'
import { hourLength, hourOf, windowHours, windowLength } from './rollups.ts'
import { topTags, type TopTag } from './top-tags.ts'

/**
 * The purges of the last 24 hours. `overview` and `topTags` are of exactly that time; `hourly` has the 24 full hours of the clock
 * that end with the one that runs, which is partial.
 */
export interface PurgeStatistics {
  overview: { totalPurges: number; distinctUrls: number; distinctTags: number; avgResponseTime: number }
  hourly: { hour: string; purges: number; partial: boolean }[]
  topTags: TopTag[]
}

const topTagCount = 20

/**
 * Full hours are read from sums that are kept with each purge, and only the hour in which the window begins from the log itself: so
 * it does not matter how many purges there are in all. `now`: milliseconds since the epoch.
 */
export async function readPurgeStatistics(db: RecordsDatabase, now: number): Promise<PurgeStatistics> {
  const last = hourOf(now)
  const first = last - windowHours + 2
  const rows = await db
    .selectFrom('purge_hours')
    .selectAll()
    .where('hour', '>=', first)
    .where('hour', '<=', last)
    .execute()
  const begun = await readBegunHour(db, now - windowLength)
  const byHour = new Map(rows.map((row) => [row.hour, row.purges]))
  const sum = (column: 'purges' | 'responses' | 'response_time') =>
    rows.reduce((total, row) => total + row[column], begun[column])
  return {
    overview: {
      totalPurges: sum('purges'),
      distinctUrls: (await countKeys(db, 'url', first)) + begun.urls,
      distinctTags: (await countKeys(db, 'tag', first)) + begun.lastTags,
      avgResponseTime: sum('responses') === 0 ? 0 : toMilliseconds(sum('response_time') / sum('responses'))!,
    },
    hourly: Array.from({ length: last - first + 1 }, (_, index) => ({
      hour: new Date((first + index) * hourLength).toISOString(),
      purges: byHour.get(first + index) ?? 0,
      partial: first + index === last,
    })),
    topTags: await topTags(db, { last, begun: begun.tags }, topTagCount),
  }
}

/** The part of an hour that the window begins in: its sums, the purges of each tag, and the keys that were not purged again since. */
interface BegunHour {
  purges: number
  responses: number
  /** Milliseconds. */
  response_time: number
  /** Purges by the number of the tag. */
  tags: ReadonlyMap<number, number>
  lastTags: number
  urls: number
}

async function readBegunHour(db: RecordsDatabase, from: number): Promise<BegunHour> {
  const hour = hourOf(from)
  const end = (hour + 1) * hourLength
  const rows = await db
    .selectFrom('purges')
    .leftJoin('purge_tags', 'purge_tags.id', 'purges.tag_id')
    .select([
      'tag_id',
      'last_hour',
      (eb) => eb.fn.countAll<number>().as('purges'),
      (eb) => eb.fn.count<number>('response_time').as('responses'),
    ])
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('response_time'), eb.lit(0)).as('response_time'))
    .where('created_at', '>=', from)
    .where('created_at', '<', end)
    .groupBy(['tag_id', 'last_hour'])
    .execute()
  const { urls } = await db
    .selectFrom('purge_urls')
    .select((eb) => eb.fn.countAll<number>().as('urls'))
    .where('last_purged_at', '>=', from)
    .where('last_purged_at', '<', end)
    .executeTakeFirstOrThrow()
  const sum = (column: 'purges' | 'responses' | 'response_time') => rows.reduce((total, row) => total + row[column], 0)
  return {
    ...{ purges: sum('purges'), responses: sum('responses'), response_time: sum('response_time'), urls },
    tags: new Map(rows.flatMap(({ tag_id, purges }) => (tag_id === null ? [] : [[tag_id, purges]]))),
    lastTags: rows.filter(({ tag_id, last_hour }) => tag_id !== null && last_hour === hour).length,
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
  const row = await db
    .selectFrom('purge_deliveries')
    .select('created_at')
    .where('proxy', '=', proxy)
    .where('purge_id', '=', purge)
    .executeTakeFirst()
  return row?.created_at ?? null
}
