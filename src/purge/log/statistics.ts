import { hourLength, hourOf } from '../../lib/moment.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { toMilliseconds } from './purge-items.ts'
import { windowHours, windowLength } from './rollups.ts'
import { topTags, type TopTag } from './top-tags.ts'

/**
 * Statistics of the last 24 hours. `overview` and `topTags` cover exactly that time; `hourly` has 24 clock hours, the last of them not yet
 * over.
 */
export interface PurgeStatistics {
  overview: { totalPurges: number; distinctUrls: number; distinctTags: number; avgResponseTime: number }
  hourly: { hour: string; purges: number; partial: boolean }[]
  topTags: TopTag[]
}

const topTagCount = 20

/**
 * Reads the statistics from the sums per hour; only the partial first hour is read from the log, so the time does not depend on the size
 * of the log. `now`: milliseconds since the epoch.
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
  const partial = await readPartialHour(db, now - windowLength)
  const byHour = new Map(rows.map((row) => [row.hour, row.purges]))
  const sum = (column: 'purges' | 'responses' | 'response_time') =>
    rows.reduce((total, row) => total + row[column], partial[column])
  return {
    overview: {
      totalPurges: sum('purges'),
      distinctUrls: (await countKeys(db, 'url', first)) + partial.urls,
      distinctTags: (await countKeys(db, 'tag', first)) + partial.lastTags,
      avgResponseTime: sum('responses') === 0 ? 0 : toMilliseconds(sum('response_time') / sum('responses'))!,
    },
    hourly: Array.from({ length: last - first + 1 }, (_, index) => ({
      hour: new Date((first + index) * hourLength).toISOString(),
      purges: byHour.get(first + index) ?? 0,
      partial: first + index === last,
    })),
    topTags: await topTags(db, { last, partialHour: partial.tags }, topTagCount),
  }
}

/** The part of the first hour that lies within the window. */
interface PartialHour {
  purges: number
  responses: number
  /** Milliseconds. */
  response_time: number
  /** Purges by tag id. */
  tags: ReadonlyMap<number, number>
  /** Tags that were not purged again since. */
  lastTags: number
  /** URLs that were not purged again since. */
  urls: number
}

async function readPartialHour(db: RecordsDatabase, from: number): Promise<PartialHour> {
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
    purges: sum('purges'),
    responses: sum('responses'),
    response_time: sum('response_time'),
    urls,
    tags: new Map(rows.flatMap(({ tag_id, purges }) => (tag_id === null ? [] : [[tag_id, purges]]))),
    lastTags: rows.filter(({ tag_id, last_hour }) => tag_id !== null && last_hour === hour).length,
  }
}

/** Counts distinct keys since the hour `first`. Each key belongs to the hour of its last purge, so none is counted twice. */
async function countKeys(db: RecordsDatabase, kind: 'url' | 'tag', first: number): Promise<number> {
  const { count } = await db
    .selectFrom('purge_key_hours')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('keys'), eb.lit(0)).as('count'))
    .where('kind', '=', kind)
    .where('hour', '>=', first)
    .executeTakeFirstOrThrow()
  return count
}

/** The backlog of one reverse proxy. */
export interface ProxyBacklog {
  name: string
  pending: number
  /** When the oldest pending purge was made; null without one. */
  oldestPending: string | null
  failed: number
}

/** Reads the backlogs of the configured proxies and of other proxies with undelivered purges. */
export async function readBacklogs(db: RecordsDatabase, configured: readonly string[]): Promise<ProxyBacklog[]> {
  const pending = await db
    .selectFrom('purge_deliveries')
    .select(['proxy', (eb) => eb.fn.countAll<number>().as('count'), (eb) => eb.fn.min('purge_id').as('oldest')])
    .where('status', '=', 'pending')
    .groupBy('proxy')
    .execute()
  const failed = await db
    .selectFrom('purge_deliveries')
    .select(['proxy', (eb) => eb.fn.countAll<number>().as('count')])
    .where('status', '=', 'failed')
    .groupBy('proxy')
    .execute()
  const names = [...new Set([...configured, ...pending.map((row) => row.proxy), ...failed.map((row) => row.proxy)])]
  return Promise.all(
    names.map(async (name) => {
      const own = pending.find((row) => row.proxy === name)
      const at = own === undefined ? null : await createdAt(db, name, own.oldest)
      return {
        name,
        pending: own?.count ?? 0,
        oldestPending: at === null ? null : new Date(at).toISOString(),
        failed: failed.find((row) => row.proxy === name)?.count ?? 0,
      }
    }),
  )
}

async function createdAt(db: RecordsDatabase, proxy: string, purge: number): Promise<number | null> {
  const row = await db
    .selectFrom('purge_deliveries')
    .select('created_at')
    .where('proxy', '=', proxy)
    .where('purge_id', '=', purge)
    .executeTakeFirst()
  return row?.created_at ?? null
}
