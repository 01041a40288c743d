import type { Records } from '../../records/open.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { purgeModes } from './purge-items.ts'

/** Rows of one query. */
const batch = 1000

/** A URL whose cached page a purge removed, and when that last happened (milliseconds since the epoch). */
export interface PurgedPage {
  url: string
  purgedAt: number
}

/** Which purges count: all, those that the purge budget made soft, or those of these tags. */
export type PurgeChoice = 'all' | 'softened' | { tags: readonly string[] }

/**
 * Reads, in batches, the URLs whose page a purge removed from the cache, or marked as stale, after `since` (milliseconds since the
 * epoch). URLs that were purged by name while no page of theirs was cached are left out.
 */
export async function* readPurgedPages(
  { db }: Records,
  since: number,
  which: PurgeChoice = 'all',
): AsyncGenerator<PurgedPage[]> {
  const tags = typeof which === 'string' ? null : await idsOfTags(db, which.tags)

  for (let after = -1, more = true; more;) {
    const rows = await db
      .selectFrom('purge_urls')
      .select(['id', 'url', 'last_purged_at as purgedAt'])
      .where('last_purged_at', '>', since)
      .where('id', '>', after)
      .where((where) =>
        where.exists(
          where
            .selectFrom('purge_pages')
            .innerJoin('purges', 'purges.id', 'purge_pages.purge_id')
            .select('purges.id')
            .whereRef('purge_pages.url_id', '=', 'purge_urls.id')
            .where('purges.pages_removed', '>', 0)
            .$if(which === 'softened', (purges) =>
              purges.where('purges.soft', '=', purgeModes.indexOf('softened')).where('purges.created_at', '>', since),
            )
            .$if(tags !== null, (purges) => purges.where('purges.tag_id', 'in', tags!)),
        ),
      )
      .orderBy('id')
      .limit(batch)
      .execute()
    if (rows.length > 0) yield rows.map(({ url, purgedAt }) => ({ url, purgedAt }))
    after = rows.at(-1)?.id ?? after
    more = rows.length === batch
  }
}

async function idsOfTags(db: RecordsDatabase, tags: readonly string[]): Promise<number[]> {
  const rows = await db.selectFrom('purge_tags').select('id').where('tag', 'in', tags).execute()
  return rows.map(({ id }) => id)
}

/** Whether URLs of purges after `since` (milliseconds since the epoch) are still to be recorded. */
export async function isRecordingUrls({ db }: Records, since: number): Promise<boolean> {
  const row = await db
    .selectFrom('invalidations')
    .select('id')
    .where('created_at', '>', since)
    .where('trace', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
