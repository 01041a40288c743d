import type { Records } from '../records/open.ts'
import { forgetStage, removeEventsOf } from './prune.ts'
import { readStage } from './stages.ts'
import type { Stage } from './stage.ts'

const eventFates = ['keep', 'remove'] as const
/** What becomes of a deleted stage's events: they stay for their retention, or go now. */
export type EventFate = (typeof eventFates)[number]

/**
 * Deletes a stage. For visitors and operators it is gone at once; its row stays for as long as events name it. A process that
 * dies while events are removed leaves the rest to the next pruning.
 *
 * @returns the stage as it was, and how many of its events are kept or were removed
 * @throws NOT_FOUND
 */
export async function deleteStage(
  records: Records,
  id: string,
  fate: EventFate,
): Promise<{ stage: Stage; events: number }> {
  const stage = await records.db.transaction().execute(async (transaction) => {
    const found = await readStage({ ...records, db: transaction }, id)
    await transaction
      .updateTable('vendor_stage')
      .set({ deleted: fate, updated_at: records.now() })
      .where('id', '=', found.id)
      .execute()
    return found
  })
  const events = fate === 'remove' ? await removeEventsOf(records, stage.id) : await countEvents(records, stage.id)
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
