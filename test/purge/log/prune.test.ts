import { expect, it } from 'vitest'
import type { Records } from '../../../src/records/open.ts'
import type { Target } from '../../../src/purge/invalidation.ts'
import { clearInvalidations, clearPurges, makePrunePurges, pruneInvalidations } from '../../../src/purge/log/prune.ts'
import { listInvalidations } from '../../../src/purge/log/invalidation-log.ts'
import { listRecent, listUrls } from '../../../src/purge/log/purge-log.ts'
import { settleDeliveries } from '../../../src/purge/deliver/settle.ts'
import { readBacklogs, readPurgeStatistics } from '../../../src/purge/log/statistics.ts'
import { aMoment, store } from '../../stores/pages.ts'
import { openPurges } from '../purges.ts'
import { expectRightSums, hour } from './sums.ts'

const range = { limit: 1_000, offset: 0 }

/** A few hundred purges over three days, in a reproducible order. */
async function threeDays(proxies: readonly string[] = []) {
  let now = aMoment
  let state = 7
  const below = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit
  const opened = await openPurges({ now: () => now, proxies })
  for (let n = 0; n < 150; n += 1) {
    now = aMoment + Math.floor((n * 72 * hour) / 150)
    if (below(3) === 0)
      await store(opened.pages, `p${n}`, {
        url: `http://shop.example/${below(30)}`,
        tags: [`t${below(40)}`],
        deleteAt: now + hour,
      })
    const targets: Target[] = [
      { scope: 'tags', tags: [`t${below(40)}`, `t${below(4)}`] },
      ...(below(3) === 0 ? [{ scope: 'urls' as const, urls: [`http://shop.example/${below(30)}`] }] : []),
      ...(below(20) === 0 ? [{ scope: 'all' as const }] : []),
    ]
    await opened.purging.invalidate({ targets, soft: false, source: 'cli', actor: null })
  }
  return { ...opened, end: now }
}

it('the saved sums equal the rows, at every hour and while old purges are pruned', async () => {
  const { records, end } = await threeDays()
  for (const at of [
    end,
    end + 20 * 60_000,
    end + hour,
    end + 11.7 * hour,
    end + 23.4 * hour,
    end + 24 * hour,
    end + 30 * hour,
  ])
    await expectRightSums(records, at)
  for (const before of [aMoment + 20 * hour, end - 10 * hour]) {
    const prunePurges = makePrunePurges([])
    while ((await prunePurges(records, { before, limit: 20 })) > 0) await expectRightSums(records, end)
    expect((await listRecent(records.db, range)).items.every((item) => Date.parse(item.createdAt) >= before)).toBe(true)
  }
  expect((await listRecent(records.db, range)).total).toBeGreaterThan(0)
  const urls = await listUrls(records.db, range)
  expect(urls.items).toHaveLength(urls.total)
})

it('a page of the list does not depend on how its offset is found', async () => {
  const { records } = await threeDays()
  const { items, total } = await listRecent(records.db, range)
  expect(items).toHaveLength(total)
  expect(items.map((item) => item.id)).toEqual(
    items
      .map((item) => item.id)
      .toSorted()
      .toReversed(),
  )
  for (const offset of [1, 133, total - 1, total, total + 5]) {
    expect((await listRecent(records.db, { limit: 3, offset })).items).toEqual(items.slice(offset, offset + 3))
  }
})

const logTables = [
  'purges',
  'purge_pages',
  'purge_urls',
  'purge_tags',
  'purge_tag_hours',
  'purge_entities',
  'purge_key_hours',
] as const

async function expectEmptyLog(records: Records, now: number): Promise<void> {
  for (const table of logTables)
    expect({ table, rows: await records.db.selectFrom(table).selectAll().execute() }).toEqual({ table, rows: [] })
  const { overview, hourly, topTags } = await readPurgeStatistics(records.db, now)
  expect({ ...overview, topTags, purges: hourly.reduce((sum, { purges }) => sum + purges, 0) }).toEqual({
    totalPurges: 0,
    distinctUrls: 0,
    distinctTags: 0,
    avgResponseTime: 0,
    topTags: [],
    purges: 0,
  })
  expect(await listRecent(records.db, range)).toEqual({ total: 0, items: [] })
  expect(await listUrls(records.db, range)).toEqual({ total: 0, items: [] })
}

const settle = (
  records: Records,
  ids: readonly number[],
  result: { status: 'pending' | 'failed' | 'delivered'; responseTime: number | null },
) =>
  records.db.transaction().execute((transaction) =>
    settleDeliveries(
      transaction,
      'varnish-1',
      ids.map((purgeId) => ({ purgeId, attempts: 3, error: result.status === 'delivered' ? null : 'no', ...result })),
    ),
  )

it('a clear empties the log whatever the proxies have acknowledged, and keeps pending deliveries', async () => {
  const { records, end } = await threeDays(['varnish-1'])
  const { items, total } = await listRecent(records.db, range)
  const { id } = await records.db
    .selectFrom('purges')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  await settle(
    records,
    Array.from({ length: id - 2 }, (_, n) => n + 1),
    { status: 'delivered', responseTime: 2 },
  )
  await settle(records, [id - 1], { status: 'failed', responseTime: null })
  await expectRightSums(records, end)
  expect((await listRecent(records.db, range)).items[1]).toMatchObject({
    proxies: [{ status: 'failed', attempts: 3, error: 'no' }],
  })
  const waiting = [{ name: 'varnish-1', pending: 1, oldestPending: items[0]!.createdAt, failed: 1 }]
  expect(await readBacklogs(records.db, ['varnish-1'])).toEqual(waiting)
  expect(await clearPurges(records)).toBe(total)
  await expectEmptyLog(records, end)
  expect(await readBacklogs(records.db, ['varnish-1'])).toEqual(waiting)
  expect(await clearInvalidations(records)).toBe(150)
  expect(await records.db.selectFrom('purge_hours').selectAll().execute()).toEqual([])
  // Later results of these deliveries add nothing to the log.
  await settle(records, [id], { status: 'pending', responseTime: null })
  await settle(records, [id - 1, id], { status: 'delivered', responseTime: 2 })
  expect(await readBacklogs(records.db, ['varnish-1'])).toEqual([
    { name: 'varnish-1', pending: 0, oldestPending: null, failed: 0 },
  ])
  expect(await records.db.selectFrom('purge_deliveries').selectAll().execute()).toEqual([])
  expect(await records.db.selectFrom('purge_hours').selectAll().execute()).toEqual([])
})

it('prunes old purges, delivered or not, and failed deliveries to proxies that are no longer configured', async () => {
  let now = aMoment
  const { records, purging } = await openPurges({ now: () => now, proxies: ['varnish-1', 'gone'] })
  for (const tag of ['a', 'b', 'c']) {
    await purging.invalidate({ targets: [{ scope: 'tags', tags: [tag] }], soft: false, source: 'cli', actor: null })
    now += hour
  }
  await records.db.updateTable('purge_deliveries').set({ status: 'failed' }).where('proxy', '=', 'gone').execute()
  const prune = makePrunePurges(['varnish-1'])
  for (let rows = 1; rows > 0;) rows = await prune(records, { before: aMoment + 2 * hour, limit: 90 })
  expect((await listRecent(records.db, range)).items.map(({ tag }) => tag)).toEqual(['c'])
  expect(await readBacklogs(records.db, ['varnish-1'])).toMatchObject([
    { name: 'varnish-1', pending: 3 },
    { name: 'gone', failed: 1 },
  ])
  await expectRightSums(records, now)
})

it('URLs of cleared purges are not recorded afterwards', async () => {
  const { records, purging, pages } = await openPurges()
  const one = (n: number) =>
    store(pages, `p${n}`, { url: `http://shop.example/${n}`, tags: ['many'], deleteAt: aMoment + hour })
  await Promise.all(Array.from({ length: 1_200 }, (_, n) => one(n)))
  await purging.invalidate({ targets: [{ scope: 'tags', tags: ['many'] }], soft: false, source: 'cli', actor: null })
  await clearPurges(records)
  await purging.catchUp()
  await expectEmptyLog(records, aMoment)
  expect(await clearInvalidations(records)).toBe(1)
})

it('prunes old invalidations and keeps newer ones', async () => {
  const { records, end } = await threeDays()
  while ((await pruneInvalidations(records, { before: end - hour, limit: 100 })) > 0);
  const { items, total } = await listInvalidations(records.db, range)
  expect(items).toHaveLength(total)
  expect(total).toBeGreaterThan(0)
  expect(items.every((item) => Date.parse(item.at) >= end - hour)).toBe(true)
})
