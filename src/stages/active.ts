import type { RecordsDatabase } from '../records/schema.ts'
import type { ActiveStage, ActiveStageQuery, PreviewQuery } from './batch.ts'
import { activeExpiries } from './session.ts'
import { toStage, type Stage } from './stage.ts'

/**
 * The stages that may be shown to a visitor now, the oldest first.
 *
 * @param now of the steady clock that dates the shows of sessions
 * @param today of the wall clock, which time windows follow: a corrected clock and a resumed machine must open and close them on time
 */
export async function findActive(
  db: RecordsDatabase,
  now: number,
  today: number,
  query: ActiveStageQuery,
): Promise<ActiveStage[]> {
  const rows = await db
    .selectFrom('vendor_stage')
    .selectAll()
    .where('active', '=', 1)
    .where('deleted', 'is', null)
    .where(({ or, eb }) => or([eb('sales_channel_id', 'is', null), eb('sales_channel_id', '=', query.salesChannelId)]))
    .where(({ or, eb }) => or([eb('starts_at', 'is', null), eb('starts_at', '<=', today)]))
    .where(({ or, eb }) => or([eb('ends_at', 'is', null), eb('ends_at', '>', today)]))
    .orderBy('id')
    .execute()
  const shows = query.session === null ? new Map<string, number>() : await readShows(db, now, query.session)
  return rows
    .map(toStage)
    .filter((stage) => mayBeShown(stage, shows.get(stage.id) ?? 0, query))
    .map((stage) => toActive(stage, stage.until === null ? null : Date.parse(stage.until) - today))
}

/** The stage of a preview link, also one that is off or outside its time window; none if it was deleted. */
export async function findPreviewed(db: RecordsDatabase, { preview }: PreviewQuery): Promise<ActiveStage[]> {
  const rows = await db
    .selectFrom('vendor_stage')
    .selectAll()
    .where('id', '=', preview)
    .where('deleted', 'is', null)
    .execute()
  return rows.map((row) => toActive(toStage(row), null))
}

function toActive(stage: Stage, endsIn: number | null): ActiveStage {
  const { id, statsEnabled, frequency, maxPerSession, content, look, trigger } = stage
  return { id, statsEnabled, frequency, maxPerSession, content, look, trigger, endsIn }
}

/** Whether page type, frequency, the session cap and the visitor's own choice allow showing a stage. */
function mayBeShown(
  stage: Stage,
  shows: number,
  { pageType, hidden }: Pick<ActiveStageQuery, 'pageType' | 'hidden'>,
): boolean {
  if (stage.pageTypes.length > 0 && (pageType === null || !stage.pageTypes.includes(pageType))) return false
  if (hidden.includes(stage.id)) return false
  if (stage.frequency !== 'always' && shows > 0) return false
  return stage.maxPerSession === null || shows < stage.maxPerSession
}

async function readShows(db: RecordsDatabase, now: number, session: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('vendor_stage_session')
    .select(['popup_id', ({ fn }) => fn.sum<number>('shows').as('shows')])
    .where('expires_at', 'in', activeExpiries(now))
    .where('session', '=', session)
    .groupBy('popup_id')
    .execute()
  return new Map(rows.map(({ popup_id, shows }) => [popup_id, shows]))
}
