import { expect, it } from 'vitest'
import { clearInvalidations, clearPurges } from '../../../src/purge/log/prune.ts'
import { listRecent, listUrls, readTimeline } from '../../../src/purge/log/purge-log.ts'
import { readPurgeStatistics } from '../../../src/purge/log/statistics.ts'
import { aMoment } from '../../stores/pages.ts'
import { openPurges } from '../purges.ts'
import { expectRightSums, hour } from './sums.ts'

const range = { limit: 1_000, offset: 0 }

it('empty logs return zeros and empty lists', async () => {
  const { records } = await openPurges()
  const { overview, hourly, topTags } = await readPurgeStatistics(records.db, aMoment)
  expect(overview).toEqual({ totalPurges: 0, distinctUrls: 0, distinctTags: 0, avgResponseTime: 0 })
  expect(hourly).toHaveLength(24)
  expect(hourly.at(-1)).toEqual({
    hour: new Date(Math.floor(aMoment / hour) * hour).toISOString(),
    purges: 0,
    partial: true,
  })
  expect(topTags).toEqual([])
  expect(await listRecent(records.db, range)).toEqual({ total: 0, items: [] })
  expect(await listUrls(records.db, range)).toEqual({ total: 0, items: [] })
  expect(await readTimeline(records.db, { type: 'product', id: 'x1' }, range)).toEqual({ total: 0, items: [] })
  expect([await clearPurges(records), await clearInvalidations(records)]).toEqual([0, 0])
})

it('the statistics cover exactly the last 24 hours', async () => {
  const day = 24 * hour
  // Not at the start of an hour, so that the window starts within one.
  let now = Math.floor(aMoment / hour) * hour + 25 * 60_000
  const { records, purging } = await openPurges({ now: () => now })
  const purge = (tag: string, url: string) =>
    purging.invalidate({
      targets: [
        { scope: 'tags', tags: [tag] },
        { scope: 'urls', urls: [url] },
      ],
      soft: false,
      source: 'cli',
      actor: null,
    })
  await purge('outside', 'http://shop.example/outside')
  now += 1
  await purge('inside', 'http://shop.example/inside')
  await purge('inside', 'http://shop.example/inside')
  now += 10 * 60_000
  await purge('later', 'http://shop.example/later')
  now += 3 * hour
  await purge('later', 'http://shop.example/later')
  const first = await readPurgeStatistics(records.db, Math.floor(aMoment / hour) * hour + 25 * 60_000 + day + 1)
  expect(first.overview).toMatchObject({ totalPurges: 8, distinctTags: 2, distinctUrls: 2 })
  expect(first.topTags).toEqual([
    { tag: 'inside', count: 2 },
    { tag: 'later', count: 2 },
  ])
  expect(first.hourly.map(({ purges }) => purges)).toEqual([0, 0, 2, ...Array.from({ length: 21 }, () => 0)])
  expect(first.hourly.map(({ partial }) => partial)).toEqual([...Array.from({ length: 23 }, () => false), true])
  await expectRightSums(records, Math.floor(aMoment / hour) * hour + 25 * 60_000 + day)
  expect((await readPurgeStatistics(records.db, now + day)).overview).toMatchObject({ totalPurges: 2, distinctTags: 1 })
  expect((await readPurgeStatistics(records.db, now + day + 1)).overview).toEqual({
    totalPurges: 0,
    distinctUrls: 0,
    distinctTags: 0,
    avgResponseTime: 0,
  })
})
