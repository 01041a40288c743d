import type { RecordsDatabase } from '../../records/schema.ts'
import { readItems, type PurgeItem } from './purge-items.ts'

/** A purge and who requested it. */
export interface LastPurge {
  purge: PurgeItem
  /** ID of the API client; null for any other source. */
  actor: string | null
}

/** The last purge that removed a page of the URL or one of its fragments; null if the log has none. */
export async function readLastPurge(
  db: RecordsDatabase,
  url: string,
  fragments: readonly string[],
): Promise<LastPurge | null> {
  const row = await db
    .selectFrom('purge_urls as u')
    .innerJoin('purge_pages as g', 'g.url_id', 'u.id')
    .innerJoin('purges as p', 'p.id', 'g.purge_id')
    .leftJoin('invalidations as i', 'i.id', 'p.invalidation_id')
    .select(['p.id', 'i.actor'])
    .where('u.url', 'in', [url, ...fragments])
    .orderBy('g.purge_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  const [purge] = await readItems(db, [row.id])
  return purge === undefined ? null : { purge, actor: row.actor }
}
