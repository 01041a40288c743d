import type { Records } from '../../records/open.ts'

/** URLs read in one statement. */
const portion = 1000

/**
 * URLs whose page a purge took out of the cache, of the purge log. `since`: purged after that moment (milliseconds since the
 * epoch). Left out is what was purged by its name alone and never held, and what a warmup found gone (404, 410) since.
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
      .limit(portion)
      .execute()
    for (const { url } of rows) yield url
    after = rows.at(-1)?.id ?? after
    more = rows.length === portion
  }
}
