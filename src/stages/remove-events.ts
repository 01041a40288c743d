import { hourOf } from '../lib/moment.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { StageEventRow } from '../records/stage-rows.ts'
import { sumByHour } from './sums.ts'

/** The columns of an event needed to remove it and to correct its sums. */
export type RemovableEvent = Pick<StageEventRow, 'id' | 'popup_id' | 'event_type' | 'created_at'>

/** Columns to select from events before removing them. */
export const removableColumns = ['id', 'popup_id', 'event_type', 'created_at'] as const

/** Ids per statement. */
const idsPerStatement = 500

/** Removes events and subtracts them from the sums, within the caller's transaction. */
export async function removeEvents(transaction: RecordsTransaction, events: readonly RemovableEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += idsPerStatement) {
    const ids = events.slice(from, from + idsPerStatement).map((event) => event.id)
    await transaction.deleteFrom('vendor_stage_event').where('id', 'in', ids).execute()
  }
  for (const sum of sumByHour(
    events.map(({ popup_id, event_type, created_at }) => ({ popup_id, event_type, hour: hourOf(created_at) })),
  )) {
    const { popup_id, hour } = sum
    await transaction
      .updateTable('vendor_stage_rollup')
      .set((rollup) => ({
        impression: rollup('impression', '-', sum.impression),
        cta_click: rollup('cta_click', '-', sum.cta_click),
        close: rollup('close', '-', sum.close),
        permanent_dismiss: rollup('permanent_dismiss', '-', sum.permanent_dismiss),
      }))
      .where('popup_id', '=', popup_id)
      .where('hour', '=', hour)
      .execute()
    // An hour without events must leave no trace of the removed ones.
    await transaction
      .deleteFrom('vendor_stage_rollup')
      .where('popup_id', '=', popup_id)
      .where('hour', '=', hour)
      .where('impression', '=', 0)
      .where('cta_click', '=', 0)
      .where('close', '=', 0)
      .where('permanent_dismiss', '=', 0)
      .execute()
  }
}
