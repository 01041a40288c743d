import { setImmediate as nextTurn } from 'node:timers/promises'
import { dayLength } from '../lib/moment.ts'
import type { Records } from '../records/open.ts'
import type { StageRow } from '../records/stage-rows.ts'
import { removableColumns, removeEvents } from './remove-events.ts'

/**
 * Removes a slice of expired rows: events past their stage's retention (0 keeps them for ever), events of stages that were deleted
 * with their events, and counters of expired sessions. Runs nightly as the task `vendor_stage.prune_events`.
 *
 * @param before the time that retention is counted back from, in milliseconds since the epoch
 * @returns the number of removed rows; fewer than `limit` if nothing is left
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
    const until = retentionLimit(stage, before)
    if (until !== null) removed += await removeSlice(records, stage.id, until, limit - removed)
    if (removed >= limit) return removed
    if (stage.deleted !== null) await forgetStage(records, stage.id)
  }
  return removed + (await removeExpiredSessions(records, before, limit - removed))
}

/** Removes all events of a stage, in slices. @returns the number of removed events */
export async function removeEventsOf(records: Records, stageId: string): Promise<number> {
  let removed = 0
  for (;;) {
    const slice = await removeSlice(records, stageId, Infinity, sliceSize)
    removed += slice
    if (slice < sliceSize) return removed
    await nextTurn()
  }
}

/** Events per transaction, which takes a few milliseconds. */
export const sliceSize = 1000

/** The time before which events of a stage are removed; null if they are kept for ever. */
function retentionLimit(
  { retention_days, deleted }: Pick<StageRow, 'retention_days' | 'deleted'>,
  before: number,
): number | null {
  if (deleted === 'remove') return Infinity
  return retention_days === 0 ? null : before - retention_days * dayLength
}

async function removeSlice({ db }: Records, stageId: string, before: number, limit: number): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    let query = transaction.selectFrom('vendor_stage_event').select(removableColumns).where('popup_id', '=', stageId)
    if (before !== Infinity) query = query.where('created_at', '<', before)
    const events = await query.orderBy('created_at').limit(limit).execute()
    await removeEvents(transaction, events)
    return events.length
  })
}

/** Removes the row of a deleted stage once no event refers to it. */
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

async function removeExpiredSessions({ db }: Records, before: number, limit: number): Promise<number> {
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
