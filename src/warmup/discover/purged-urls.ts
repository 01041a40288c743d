import type { Records } from '../../records/open.ts'

/** URLs whose page a purge removed, with the time of the last such purge (milliseconds since the epoch), in batches. */
export type PurgedPages = AsyncIterable<readonly { url: string; purgedAt: number }[]>

/** The URLs of purged pages, without those that a warmup has since found gone (404, 410). */
export async function* purgedUrls({ db }: Records, purged: PurgedPages): AsyncGenerator<string> {
  for await (const batch of purged) {
    const failures = await db
      .selectFrom('warmup_failures')
      .select(['url', 'at'])
      .where(
        'url',
        'in',
        batch.map(({ url }) => url),
      )
      .where('status', 'in', [404, 410])
      .execute()
    const goneAt = new Map<string, number>()
    for (const { url, at } of failures) goneAt.set(url, Math.max(at, goneAt.get(url) ?? 0))
    for (const { url, purgedAt } of batch) if ((goneAt.get(url) ?? 0) <= purgedAt) yield url
  }
}
