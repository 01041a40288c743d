import type { Records } from '../records/open.ts'
import { forgetStage, removeEventsOf } from './prune.ts'
import { readStage } from './stages.ts'
import type { Stage } from './stage.ts'

const eventHandlings = ['keep', 'remove'] as const
/** What happens to the events of a deleted stage: kept until their retention ends, or removed now. */
export type EventHandling = (typeof eventHandlings)[number]

/**
 * Deletes a stage. It disappears for visitors and operators at once; its row stays as long as events refer to it. If the process
 * crashes while removing events, the nightly pruning removes the rest.
 *
 * @returns the deleted stage, and how many of its events were kept or removed
 * @throws NOT_FOUND
 */
export async function deleteStage(
  records: Records,
  id: string,
  handling: EventHandling,
): Promise<{ stage: Stage; events: number }> {
  const stage = await records.db.transaction().execute(async (transaction) => {
    const found = await readStage({ ...records, db: transaction }, id)
    await transaction
      .updateTable('vendor_stage')
      .set({ deleted: handling, updated_at: records.now() })
      .where('id', '=', found.id)
      .execute()
    return found
  })
  const events = handling === 'remove' ? await removeEventsOf(records, stage.id) : await countEvents(records, stage.id)
  await forgetStage(records, stage.id)
  return { stage, events }
}

async function countEvents({ db }: Records, stageId: string): Promise<number> {
  const { events } = await db
    .selectFrom('vendor_stage_rollup')
    .where('popup_id', '=', stageId)
    .select(({ eb, fn, ref }) => {
      const all = eb(eb(ref('impression'), '+', ref('cta_click')), '+', eb(ref('close'), '+', ref('permanent_dismiss')))
      return fn.coalesce(fn.sum<number>(all), eb.val(0)).as('events')
    })
    .executeTakeFirstOrThrow()
  return events
}
