import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { forgetEntities, forgetPages, forgetTags } from './forget-texts.ts'
import { addToHour, dropEmptyHours, hourOf } from './rollups.ts'

/** Purges that go in one transaction at most: some ten milliseconds. */
const slice = 100
/** Of their pages so many. */
const pageSlice = 1_000

/** What goes, a slice at a time: made before a moment (milliseconds since the epoch), numbered up to `last` where that is given. */
interface Slice {
  before: number
  limit: number
  last?: number
}

/**
 * Makes what deletes, a slice with each call, the purges from before a moment (milliseconds since the epoch), with all that hangs
 * on them. What a reverse proxy has still to be told is no part of the log and stays; what was given up for a proxy that is no
 * longer configured goes as the log does. A call tells how many rows went, of whatever table; 0: there are no more.
 *
 * @param proxies names of the configured reverse proxies
 */
export function makePrunePurges(proxies: readonly string[]): (records: Records, slice: Slice) => Promise<number> {
  return async (records, { before, limit }) => {
    const { rows } = await prunePurges(records, { before, limit: Math.min(limit, slice) })
    return rows > 0 ? rows : forgetDeliveries(records, proxies, { before, limit })
  }
}

/** The same for the invalidation log: how many invalidations went; 0: there are no more. */
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

/**
 * Deletes the purge log as it is now, in slices, whatever the state of the reverse proxies: deliveries that wait stand by
 * themselves. Resolves to the number of purges.
 */
export async function clearPurges(records: Records): Promise<number> {
  const last = await lastOf(records, 'purges')
  let deleted = 0
  for (;;) {
    const { rows, purges } = await prunePurges(records, { before: Number.MAX_SAFE_INTEGER, limit: slice, last })
    if (rows === 0) return deleted
    deleted += purges
    await yieldToOthers()
  }
}

/** Deletes the invalidation log as it is now, in slices; what is under way stays. How many invalidations went. */
export async function clearInvalidations(records: Records): Promise<number> {
  const last = await lastOf(records, 'invalidations')
  let deleted = 0
  for (;;) {
    const rows = await pruneInvalidations(records, { before: Number.MAX_SAFE_INTEGER, limit: slice, last })
    if (rows === 0) return deleted
    deleted += rows
    await yieldToOthers()
  }
}

/** The newest row: what comes while a log is cleared is not chased. */
async function lastOf({ db }: Records, table: 'purges' | 'invalidations'): Promise<number> {
  const row = await db.selectFrom(table).select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
  return row?.id ?? 0
}

/** The oldest purges; `rows` of whatever table, 0 where none is left. */
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

/** Deliveries that were given up for proxies that are no longer configured. */
async function forgetDeliveries(
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
    .limit(pageSlice)
    .execute()
  await forgetPages(transaction, pages)
  // A purge goes with the last of its pages.
  if (pages.length === pageSlice) return { rows: pages.length, purges: 0 }
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
