import type { RecordsDatabase } from '../records/schema.ts'
import type { ActiveStageQuery, ActiveStage } from './batch.ts'
import { activeExpiries } from './session.ts'
import { toStage, type Stage } from './stage.ts'

/** The stages that may be shown to a visitor now, the oldest first. */
export async function findActive(db: RecordsDatabase, now: number, query: ActiveStageQuery): Promise<ActiveStage[]> {
  const rows = await db
    .selectFrom('vendor_stage')
    .selectAll()
    .where('active', '=', 1)
    .where('deleted', 'is', null)
    .where(({ or, eb }) => or([eb('sales_channel_id', 'is', null), eb('sales_channel_id', '=', query.salesChannelId)]))
    .orderBy('id')
    .execute()
  const shows = query.session === null ? new Map<string, number>() : await readShows(db, now, query.session)
  return rows
    .map(toStage)
    .filter((stage) => mayBeShown(stage, shows.get(stage.id) ?? 0, query))
    .map(({ id, statsEnabled, frequency, maxPerSession, content }) => ({
      id,
      statsEnabled,
      frequency,
      maxPerSession,
      content,
    }))
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
