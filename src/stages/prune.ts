import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Records } from '../records/open.ts'
import type { StageRow } from '../records/stage-rows.ts'
import { removedColumns, removeEvents } from './remove-events.ts'
import { dayLength } from './sums.ts'

/**
 * Removes a slice of what is past its time: events older than their stage's retention (0 keeps them for ever), events of stages
 * that were deleted with them, counters of sessions that are over. Nightly, as `vendor_stage.prune_events`.
 *
 * @param before the moment that ages are counted back from, milliseconds since the epoch
 * @returns how many rows went; fewer than `limit` when nothing is left to do
 */
export async function pruneEvents(
  records: Records,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  let removed = 0
  for (const stage of await records.db
    .selectFrom('vendor_stage')
    .select(['id', 'retention_days', 'deleted'])
    .execute()) {
    const until = keptSince(stage, before)
    if (until !== null) removed += await removeSlice(records, stage.id, until, limit - removed)
    if (removed >= limit) return removed
    if (stage.deleted !== null) await forgetStage(records, stage.id)
  }
  return removed + (await removeSessions(records, before, limit - removed))
}

/** Removes all events of a stage, in slices. How many went. */
export async function removeEventsOf(records: Records, stageId: string): Promise<number> {
  let removed = 0
  for (;;) {
    const slice = await removeSlice(records, stageId, Infinity, eventsAtOnce)
    removed += slice
    if (slice < eventsAtOnce) return removed
    await nextTurn()
  }
}

/** A slice of this size takes a few milliseconds. */
export const eventsAtOnce = 1000

/** Events that are older go; null: none of them. */
function keptSince(
  { retention_days, deleted }: Pick<StageRow, 'retention_days' | 'deleted'>,
  before: number,
): number | null {
  if (deleted === 'remove') return Infinity
  return retention_days === 0 ? null : before - retention_days * dayLength
}

async function removeSlice({ db }: Records, stageId: string, before: number, limit: number): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    let query = transaction.selectFrom('vendor_stage_event').select(removedColumns).where('popup_id', '=', stageId)
    if (before !== Infinity) query = query.where('created_at', '<', before)
    const events = await query.orderBy('created_at').limit(limit).execute()
    await removeEvents(transaction, events)
    return events.length
  })
}

/** The row of a deleted stage goes when no event names it any more. */
export async function forgetStage({ db }: Records, stageId: string): Promise<void> {
  await db
    .deleteFrom('vendor_stage')
    .where('id', '=', stageId)
    .where('deleted', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('vendor_stage_event').select('id').where('popup_id', '=', stageId))),
    )
    .execute()
}

async function removeSessions({ db }: Records, before: number, limit: number): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    const expired = await transaction
      .selectFrom('vendor_stage_session')
      .select(['expires_at', 'session', 'popup_id'])
      .where('expires_at', '<=', before)
      .limit(limit)
      .execute()
    for (const { expires_at, session, popup_id } of expired) {
      await transaction
        .deleteFrom('vendor_stage_session')
        .where('expires_at', '=', expires_at)
        .where('session', '=', session)
        .where('popup_id', '=', popup_id)
        .execute()
    }
    return expired.length
  })
}
