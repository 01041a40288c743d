import type { RecordsTransaction } from '../records/schema.ts'
import type { StageEventRow } from '../records/stage-rows.ts'
import { hourOf, sumByHour } from './sums.ts'

/** Events that are to go, as far as their sums need them. */
export type RemovedEvent = Pick<StageEventRow, 'id' | 'popup_id' | 'event_type' | 'created_at'>

/** Columns to select of events that are to be removed. */
export const removedColumns = ['id', 'popup_id', 'event_type', 'created_at'] as const

/** Ids in one statement. */
const idsAtOnce = 500

/** Removes events and takes them out of the sums, all within the caller's transaction. */
export async function removeEvents(transaction: RecordsTransaction, events: readonly RemovedEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += idsAtOnce) {
    const ids = events.slice(from, from + idsAtOnce).map((event) => event.id)
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
    // An hour without events leaves no trace that there were some.
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
