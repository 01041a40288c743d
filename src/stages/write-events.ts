import { hourOf } from '../lib/moment.ts'
import { uuidv7 } from '../lib/uuid.ts'
import { prepare, prepareRows } from '../records/statements.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import type { StageEventRow, StageRollupRow, StageRow, StageSessionRow } from '../records/stage-rows.ts'
import type { TrackOutcome, TrackedEvent } from './batch.ts'
import { showExpiry } from './session.ts'
import { sumByHour } from './sums.ts'

/** Writes a batch of events; see `prepareWriter`. */
export type EventWriter = (events: readonly TrackedEvent[]) => Promise<TrackOutcome[]>

/**
 * Makes the function that writes a batch of events, their hourly sums and the shows of sessions in one transaction. Whether a stage
 * records is read under the same lock, so that concurrent changes to the stage are respected.
 */
export function prepareWriter(db: RecordsDatabase): EventWriter {
  const { insertEvents, addSums, addShows } = prepareInserts(db)
  return (events) =>
    db.transaction().execute(async (transaction) => {
      const stages = new Map<string, Recording>()
      for (const id of new Set(events.map((event) => event.popupId))) {
        const [stage] = (await findStage(transaction, { id })).rows
        if (stage !== undefined) stages.set(id, stage)
      }
      const outcomes = events.map((event) => outcomeOf(event, stages))
      const recorded = events.filter((_, index) => isRecorded(outcomes[index]!))
      const rows = recorded.map(toRow)
      await insertEvents.execute(transaction, rows)
      await addSums.execute(
        transaction,
        sumByHour(
          rows.map(({ popup_id, event_type, created_at }) => ({ popup_id, event_type, hour: hourOf(created_at) })),
        ),
      )
      await addShows.execute(transaction, showsOf(recorded))
      return outcomes
    })
}

function prepareInserts(db: RecordsDatabase) {
  const insertEvents = prepareRows<StageEventRow>(eventColumns, (rows) =>
    db.insertInto('vendor_stage_event').values(rows),
  )
  const addSums = prepareRows<StageRollupRow>(sumColumns, (rows) =>
    db
      .insertInto('vendor_stage_rollup')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['popup_id', 'hour']).doUpdateSet((row) => ({
          impression: row('vendor_stage_rollup.impression', '+', row.ref('excluded.impression')),
          cta_click: row('vendor_stage_rollup.cta_click', '+', row.ref('excluded.cta_click')),
          close: row('vendor_stage_rollup.close', '+', row.ref('excluded.close')),
          permanent_dismiss: row('vendor_stage_rollup.permanent_dismiss', '+', row.ref('excluded.permanent_dismiss')),
        })),
      ),
  )
  const addShows = prepareRows<StageSessionRow>(sessionColumns, (rows) =>
    db
      .insertInto('vendor_stage_session')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['expires_at', 'session', 'popup_id']).doUpdateSet((row) => ({
          shows: row('vendor_stage_session.shows', '+', row.ref('excluded.shows')),
        })),
      ),
  )
  return { insertEvents, addSums, addShows }
}

const findStage = prepare<{ id: string }, Recording>((db, { id }) =>
  db
    .selectFrom('vendor_stage')
    .select(['stats_enabled', 'frequency'])
    .where('id', '=', id)
    .where('deleted', 'is', null),
)

const eventColumns = [
  'id',
  'popup_id',
  'event_type',
  'sales_channel_id',
  'customer_id',
  'page_type',
  'request_url',
  'created_at',
] as const
const sumColumns = ['popup_id', 'hour', 'impression', 'cta_click', 'close', 'permanent_dismiss'] as const
const sessionColumns = ['expires_at', 'session', 'popup_id', 'shows'] as const

function isRecorded(outcome: TrackOutcome): boolean {
  return outcome === 'recorded' || outcome === 'shown_once'
}

/** The settings of a stage that decide whether and how events are recorded. */
type Recording = Pick<StageRow, 'stats_enabled' | 'frequency'>

function outcomeOf({ popupId, counted, type }: TrackedEvent, stages: ReadonlyMap<string, Recording>): TrackOutcome {
  const stage = stages.get(popupId)
  if (stage === undefined) return 'unknown'
  if (stage.stats_enabled === 0 || !counted) return 'ignored'
  return stage.frequency === 'once' && type === 'impression' ? 'shown_once' : 'recorded'
}

function toRow(event: TrackedEvent): StageEventRow {
  return {
    id: uuidv7(event.at),
    popup_id: event.popupId,
    event_type: event.type,
    sales_channel_id: event.salesChannelId,
    customer_id: event.customerId,
    page_type: event.pageType,
    request_url: event.requestUrl,
    created_at: event.at,
  }
}

/** Counts the new shows by session and stage. */
function showsOf(events: readonly TrackedEvent[]): StageSessionRow[] {
  const rows = new Map<string, StageSessionRow>()
  for (const { session, popupId, at } of events) {
    if (session === null) continue
    const expires_at = showExpiry(at)
    const key = `${expires_at}${session}${popupId}`
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { expires_at, session, popup_id: popupId, shows: 1 })
    else row.shows += 1
  }
  return [...rows.values()]
}
