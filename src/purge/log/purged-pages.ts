import type { Records } from '../../records/open.ts'

/** Rows of one query. */
const batch = 1000

/** A URL whose cached page a purge removed, and when that last happened (milliseconds since the epoch). */
export interface PurgedPage {
  url: string
  purgedAt: number
}

/**
 * Reads, in batches, the URLs whose page a purge removed from the cache after `since` (milliseconds since the epoch). URLs that were
 * purged by name while no page of theirs was cached are left out.
 */
export async function* readPurgedPages({ db }: Records, since: number): AsyncGenerator<PurgedPage[]> {
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
            .where('purges.pages_removed', '>', 0),
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
