import type { RecordsDatabase } from '../records/schema.ts'
import type { ActiveQuestion, ActiveStage } from './batch.ts'
import { liveExpiries } from './session.ts'
import { toStage, type Stage } from './stage.ts'

/** The stages that a visitor may be shown now, the oldest first. */
export async function findActive(db: RecordsDatabase, now: number, question: ActiveQuestion): Promise<ActiveStage[]> {
  const rows = await db
    .selectFrom('vendor_stage')
    .selectAll()
    .where('active', '=', 1)
    .where('deleted', 'is', null)
    .where(({ or, eb }) =>
      or([eb('sales_channel_id', 'is', null), eb('sales_channel_id', '=', question.salesChannelId)]),
    )
    .orderBy('id')
    .execute()
  const shows = question.session === null ? new Map<string, number>() : await readShows(db, now, question.session)
  return rows
    .map(toStage)
    .filter((stage) => mayBeShown(stage, shows.get(stage.id) ?? 0, question))
    .map(({ id, statsEnabled, frequency, maxPerSession, content }) => ({
      id,
      statsEnabled,
      frequency,
      maxPerSession,
      content,
    }))
}

/** Whether frequency, cap and the visitor's own word leave room for a show (spec 2, sections 2 and 8). */
function mayBeShown(
  stage: Stage,
  shows: number,
  { pageType, hidden }: Pick<ActiveQuestion, 'pageType' | 'hidden'>,
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
    .where('expires_at', 'in', liveExpiries(now))
    .where('session', '=', session)
    .groupBy('popup_id')
    .execute()
  return new Map(rows.map(({ popup_id, shows }) => [popup_id, shows]))
}
