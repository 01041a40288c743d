import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { addToHour, dropEmptyHours, hourOf } from './rollups.ts'
import { forgetEntities, forgetPages, forgetTags } from './forget-texts.ts'

/** Purges that go in one transaction at most: some ten milliseconds. */
const slice = 100
/** Of their pages so many. */
const pageSlice = 1_000

/**
 * Deletes a slice of the purges from before a moment (milliseconds since the epoch), with all that hangs on them; what a reverse
 * proxy has still to be told stays. How many rows went, of whatever table; 0: there are no more.
 */
export async function prunePurges(records: Records, { before, limit }: { before: number; limit: number }): Promise<number> {
  const { rows } = await pruneSlice(records, before, Math.min(limit, slice))
  return rows
}

/** The same for the invalidation log: how many invalidations went; 0: there are no more. */
export async function pruneInvalidations(records: Records, { before, limit }: { before: number; limit: number }): Promise<number> {
  return records.db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('invalidations')
      .select(['id', 'created_at'])
      .where('created_at', '<', before)
      .where('intent', 'is', null)
      .where('trace', 'is', null)
      .orderBy('created_at')
      .limit(limit)
      .execute()
    if (rows.length === 0) return 0
    await transaction.deleteFrom('invalidations').where('id', 'in', rows.map((row) => row.id)).execute()
    for (const [hour, same] of Map.groupBy(rows, (row) => hourOf(row.created_at))) await addToHour(transaction, hour, { invalidations: -same.length })
    await dropEmptyHours(transaction)
    return rows.length
  })
}

/** Deletes the purge log as it is now, in slices. How many purges went. */
export async function clearPurges(records: Records): Promise<number> {
  await records.db.updateTable('invalidations').set({ trace: null }).where('trace', 'is not', null).execute()
  let deleted = 0
  for (;;) {
    const { rows, purges } = await pruneSlice(records, Number.MAX_SAFE_INTEGER, slice)
    if (rows === 0) return deleted
    deleted += purges
    await yieldToOthers()
  }
}

/** Deletes the invalidation log as it is now, in slices; what is under way stays. How many invalidations went. */
export async function clearInvalidations(records: Records): Promise<number> {
  let deleted = 0
  for (;;) {
    const rows = await pruneInvalidations(records, { before: Number.MAX_SAFE_INTEGER, limit: slice })
    if (rows === 0) return deleted
    deleted += rows
    await yieldToOthers()
  }
}

async function pruneSlice({ db }: Records, before: number, limit: number): Promise<{ rows: number; purges: number }> {
  return db.transaction().execute(async (transaction) => {
    const purges = await choose(transaction, before, limit)
    if (purges.length === 0) return { rows: 0, purges: 0 }
    const ids = purges.map((purge) => purge.id)
    const pages = await transaction.selectFrom('purge_pages').selectAll().where('purge_id', 'in', ids).orderBy('purge_id').limit(pageSlice).execute()
    await forgetPages(transaction, pages)
    // A purge goes with the last of its pages.
    if (pages.length === pageSlice) return { rows: pages.length, purges: 0 }
    await transaction.deleteFrom('purge_deliveries').where('purge_id', 'in', ids).execute()
    await transaction.deleteFrom('purges').where('id', 'in', ids).execute()
    await forgetTags(transaction, purges)
    await forgetEntities(transaction, purges)
    for (const [hour, same] of Map.groupBy(purges, (purge) => hourOf(purge.created_at))) {
      const times = same.flatMap((purge) => purge.response_time ?? [])
      await addToHour(transaction, hour, { purges: -same.length, responses: -times.length, responseTime: -times.reduce((sum, time) => sum + time, 0) })
    }
    await dropEmptyHours(transaction)
    return { rows: pages.length + purges.length, purges: purges.length }
  })
}

async function choose(transaction: RecordsTransaction, before: number, limit: number) {
  return transaction
    .selectFrom('purges')
    .select(['id', 'created_at', 'tag_id', 'entity_id', 'response_time'])
    .where('created_at', '<', before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('purge_deliveries').select('purge_deliveries.purge_id').whereRef('purge_deliveries.purge_id', '=', 'purges.id').where('purge_deliveries.status', '=', 'pending'),
        ),
      ),
    )
    .orderBy('created_at')
    .limit(limit)
    .execute()
}
