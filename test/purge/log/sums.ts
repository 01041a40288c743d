import { expect } from 'vitest'
import type { Records } from '../../../src/records/open.ts'
import { listRecent } from '../../../src/purge/log/purge-log.ts'
import { readPurgeStatistics } from '../../../src/purge/log/statistics.ts'

export const hour = 3_600_000

/** The statistics counted from the rows, without the saved sums. */
async function countFromRows({ db }: Records, now: number) {
  const first = (Math.floor(now / hour) - 23) * hour
  const from = now - 24 * hour
  const purges = await db
    .selectFrom('purges')
    .leftJoin('purge_tags', 'purge_tags.id', 'purges.tag_id')
    .select(['purges.created_at', 'tag', 'response_time'])
    .where('created_at', '>=', from)
    .execute()
  const pages = await db
    .selectFrom('purge_pages')
    .innerJoin('purges', 'purges.id', 'purge_pages.purge_id')
    .select('purge_pages.url_id')
    .distinct()
    .where('created_at', '>=', from)
    .execute()
  const tags = purges.flatMap(({ tag }) => tag ?? [])
  const counts = [...new Set(tags)].map((tag) => ({ tag, count: tags.filter((each) => each === tag).length }))
  const times = purges.flatMap(({ response_time }) => response_time ?? [])
  return {
    totalPurges: purges.length,
    distinctUrls: pages.length,
    distinctTags: new Set(tags).size,
    hourly: Array.from(
      { length: 24 },
      (_, n) => purges.filter(({ created_at }) => Math.floor((created_at - first) / hour) === n).length,
    ),
    topTags: counts.sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1)).slice(0, 20),
    time: times.length === 0 ? 0 : times.reduce((sum, time) => sum + time, 0) / times.length,
  }
}

/** Compares the saved sums with the rows. */
export async function expectRightSums(records: Records, now: number): Promise<void> {
  const { overview, hourly, topTags } = await readPurgeStatistics(records.db, now)
  const counted = await countFromRows(records, now)
  const { avgResponseTime, ...numbers } = overview
  expect({
    ...numbers,
    hourly: hourly.map(({ purges }) => purges),
    topTags: topTags.map(({ count }) => count),
  }).toEqual({
    totalPurges: counted.totalPurges,
    distinctUrls: counted.distinctUrls,
    distinctTags: counted.distinctTags,
    hourly: counted.hourly,
    topTags: counted.topTags.map(({ count }) => count),
  })
  expect(avgResponseTime).toBeCloseTo(counted.time, 2)
  const { total } = await records.db
    .selectFrom('purges')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  expect((await listRecent(records.db, { limit: 1, offset: 0 })).total).toBe(total)
}
