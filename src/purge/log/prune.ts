import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { hourOf } from '../../lib/moment.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { forgetEntities, forgetPages, forgetTags } from './forget-names.ts'
import { addToHour, dropEmptyHours } from './rollups.ts'

/** Most purges deleted in one transaction, which then takes about ten milliseconds. */
const sliceSize = 100
/** Most of their pages deleted in one transaction. */
const pageSliceSize = 1_000

/** The rows of one slice. */
interface Slice {
  /** Rows made before this time, in milliseconds since the epoch. */
  before: number
  limit: number
  /** The highest row number. */
  last?: number
}

/**
 * Makes a function that deletes one slice of old purges with their dependent rows, and returns the number of deleted rows of all tables;
 * 0: none is left. Undelivered purges are not part of the log and stay, except those that failed for a proxy that is no longer
 * configured.
 *
 * @param proxies names of the configured reverse proxies
 */
export function makePrunePurges(proxies: readonly string[]): (records: Records, slice: Slice) => Promise<number> {
  return async (records, { before, limit }) => {
    const { rows } = await prunePurges(records, { before, limit: Math.min(limit, sliceSize) })
    return rows > 0 ? rows : deleteFailedDeliveries(records, proxies, { before, limit })
  }
}

/** Deletes one slice of old invalidations that are carried out. Returns how many it deleted; 0: none is left. */
export async function pruneInvalidations(
  records: Records,
  { before, limit, last = Number.MAX_SAFE_INTEGER }: Slice,
): Promise<number> {
  return records.db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('invalidations')
      .select(['id', 'created_at'])
      .where('created_at', '<', before)
      .where('id', '<=', last)
      .where('intent', 'is', null)
      .where('trace', 'is', null)
      .orderBy('created_at')
      .limit(limit)
      .execute()
    if (rows.length === 0) return 0
    await transaction
      .deleteFrom('invalidations')
      .where(
        'id',
        'in',
        rows.map((row) => row.id),
      )
      .execute()
    for (const [hour, same] of Map.groupBy(rows, (row) => hourOf(row.created_at)))
      await addToHour(transaction, hour, { invalidations: -same.length })
    await dropEmptyHours(transaction)
    return rows.length
  })
}

/** Deletes the current purge log in slices. Undelivered purges are kept. Returns the number of deleted purges. */
export async function clearPurges(records: Records): Promise<number> {
  const last = await lastOf(records, 'purges')
  let deleted = 0
  for (;;) {
    const { rows, purges } = await prunePurges(records, { before: Number.MAX_SAFE_INTEGER, limit: sliceSize, last })
    if (rows === 0) return deleted
    deleted += purges
    await yieldToOthers()
  }
}

/** Deletes the current invalidation log in slices, except unfinished invalidations. Returns how many it deleted. */
export async function clearInvalidations(records: Records): Promise<number> {
  const last = await lastOf(records, 'invalidations')
  let deleted = 0
  for (;;) {
    const rows = await pruneInvalidations(records, { before: Number.MAX_SAFE_INTEGER, limit: sliceSize, last })
    if (rows === 0) return deleted
    deleted += rows
    await yieldToOthers()
  }
}

/** The number of the newest row: rows added while a log is cleared are kept. */
async function lastOf({ db }: Records, table: 'purges' | 'invalidations'): Promise<number> {
  const row = await db.selectFrom(table).select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
  return row?.id ?? 0
}

/** Deletes one slice of the oldest purges. `rows`: deleted rows of all tables, 0 if none is left. */
async function prunePurges(
  { db }: Records,
  { before, limit, last = Number.MAX_SAFE_INTEGER }: Slice,
): Promise<{ rows: number; purges: number }> {
  return db.transaction().execute(async (transaction) => {
    const purges = await transaction
      .selectFrom('purges')
      .select(['id', 'created_at', 'tag_id', 'entity_id', 'response_time'])
      .where('created_at', '<', before)
      .where('id', '<=', last)
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute()
    return removePurges(transaction, purges)
  })
}

/** Deletes deliveries that failed for proxies that are no longer configured. */
async function deleteFailedDeliveries(
  { db }: Records,
  proxies: readonly string[],
  { before, limit }: Slice,
): Promise<number> {
  const rows = await db
    .selectFrom('purge_deliveries')
    .select(['purge_id', 'proxy'])
    .where('status', '=', 'failed')
    .where('created_at', '<', before)
    .$if(proxies.length > 0, (query) => query.where('proxy', 'not in', proxies))
    .limit(limit)
    .execute()
  for (const [proxy, same] of Map.groupBy(rows, (row) => row.proxy)) {
    await db
      .deleteFrom('purge_deliveries')
      .where('proxy', '=', proxy)
      .where('status', '=', 'failed')
      .where(
        'purge_id',
        'in',
        same.map((row) => row.purge_id),
      )
      .execute()
  }
  return rows.length
}

interface PrunedPurge {
  id: number
  created_at: number
  tag_id: number | null
  entity_id: number | null
  response_time: number | null
}

async function removePurges(
  transaction: RecordsTransaction,
  purges: readonly PrunedPurge[],
): Promise<{ rows: number; purges: number }> {
  if (purges.length === 0) return { rows: 0, purges: 0 }
  const ids = purges.map((purge) => purge.id)
  const pages = await transaction
    .selectFrom('purge_pages')
    .selectAll()
    .where('purge_id', 'in', ids)
    .orderBy('purge_id')
    .limit(pageSliceSize)
    .execute()
  await forgetPages(transaction, pages)
  // A purge is deleted with the last of its pages.
  if (pages.length === pageSliceSize) return { rows: pages.length, purges: 0 }
  await transaction
    .deleteFrom('purge_deliveries')
    .where('purge_id', 'in', ids)
    .where('status', '=', 'delivered')
    .execute()
  await transaction.deleteFrom('purges').where('id', 'in', ids).execute()
  await forgetTags(transaction, purges)
  await forgetEntities(transaction, purges)
  for (const [hour, same] of Map.groupBy(purges, (purge) => hourOf(purge.created_at))) {
    const times = same.flatMap((purge) => purge.response_time ?? [])
    await addToHour(transaction, hour, {
      purges: -same.length,
      responses: -times.length,
      responseTime: -times.reduce((sum, time) => sum + time, 0),
    })
  }
  await dropEmptyHours(transaction)
  return { rows: pages.length + purges.length, purges: purges.length }
}
