import type { Records } from '../../records/open.ts'

/** URLs read per statement. */
const batchSize = 1000

/**
 * URLs from the purge log whose page a purge has removed from the cache. Skips URLs that were purged without being cached, and URLs
 * that a warmup has found gone (404, 410) since.
 *
 * @param since only purges after this time (milliseconds since the epoch)
 */
export async function* purgedUrls(records: Records, since: number): AsyncGenerator<string> {
  for (let after = -1, more = true; more;) {
    const rows = await records.db
      .selectFrom('purge_urls')
      .select(['id', 'url'])
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
      .where((where) =>
        where.not(
          where.exists(
            where
              .selectFrom('warmup_failures')
              .select('warmup_failures.id')
              .whereRef('warmup_failures.url', '=', 'purge_urls.url')
              .whereRef('warmup_failures.at', '>', 'purge_urls.last_purged_at')
              .where('warmup_failures.status', 'in', [404, 410]),
          ),
        ),
      )
      .orderBy('id')
      .limit(batchSize)
      .execute()
    for (const { url } of rows) yield url
    after = rows.at(-1)?.id ?? after
    more = rows.length === batchSize
  }
}
