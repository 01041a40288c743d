import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import { pageTypes } from '../../src/pages/page.ts'
import { placesIn } from '../../src/pages/places.ts'
import type { Invalidation, Target } from '../../src/purge/invalidation.ts'
import { listRecent, readUrlFlow } from '../../src/purge/log/purge-log.ts'
import { readPurgeStatistics } from '../../src/purge/log/statistics.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { lockRecords } from '../helpers/lock-records.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { aMoment, draft, store } from '../stores/pages.ts'
import { openPurges } from './purges.ts'

const range = { limit: 200, offset: 0 }

function of(...targets: Target[]): Invalidation {
  return { targets, soft: false, source: 'purge-method', actor: '127.0.0.1' }
}

function byTag(...tags: string[]): Invalidation {
  return of({ scope: 'tags', tags })
}

/** Removals logged by the page index. */
function removalsIn(directory: string): number {
  const index = new Database(placesIn(join(directory, 'cache')).index, { readonly: true })
  try {
    return index.prepare<[], number>('select count(*) from removal').pluck().get()!
  } finally {
    index.close()
  }
}

it('concurrent purges share transactions, and each is logged with its own pages', async () => {
  const { purging, pages, records, directory } = await openPurges({ proxies: ['varnish-1'] })
  for (let n = 0; n < 40; n += 1) for (const page of ['a', 'b']) await store(pages, `${page}${n}`, { tags: [`t${n}`] })
  const outcomes = await Promise.all(Array.from({ length: 40 }, (_, n) => purging.invalidate(byTag(`t${n}`))))
  expect(outcomes.map(({ pagesRemoved }) => pagesRemoved)).toEqual(Array.from({ length: 40 }, () => 2))
  expect(new Set(outcomes.map(({ invalidationId }) => invalidationId)).size).toBe(40)
  expect(removalsIn(directory)).toBe(1)
  const { total, items } = await listRecent(records.db, range)
  expect(total).toBe(40)
  expect(items.map(({ tag, pagesRemoved }) => [tag, pagesRemoved])).toEqual(
    Array.from({ length: 40 }, (_, n) => [`t${39 - n}`, 2]),
  )
  expect((await readUrlFlow(records.db, draft('a7').url, range)).items).toMatchObject([{ tag: 't7', pagesRemoved: 2 }])
  expect(await records.db.selectFrom('purge_deliveries').select('purge_id').execute()).toHaveLength(40)
  expect(await records.db.selectFrom('queue_messages').select('key').execute()).toEqual([{ key: 'proxy:varnish-1' }])
  expect((await readPurgeStatistics(records.db, aMoment)).overview).toMatchObject({
    totalPurges: 40,
    distinctTags: 40,
    distinctUrls: 80,
  })
})

it('concurrent purges of one tag remove its pages once and count each time', async () => {
  const { purging, pages, records } = await openPurges()
  await store(pages, 'a', { tags: ['t'] })
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => purging.invalidate(byTag('t', 'u'))))
  expect(outcomes.map(({ pagesRemoved }) => pagesRemoved).sort()).toEqual([0, 0, 0, 0, 1])
  await purging.invalidate(byTag('t'))
  const { overview, topTags } = await readPurgeStatistics(records.db, aMoment)
  expect(overview).toMatchObject({ totalPurges: 11, distinctTags: 2 })
  expect(topTags).toEqual([
    { tag: 't', count: 6 },
    { tag: 'u', count: 5 },
  ])
  expect((await readUrlFlow(records.db, draft('a').url, range)).items).toHaveLength(1)
})

it('a group can mix tags, URLs and soft purges', async () => {
  const { purging, pages } = await openPurges()
  for (const name of ['a', 'b', 'c', 'd']) await store(pages, name, { tags: [name], staleAt: aMoment + 60_000 })
  const outcomes = await Promise.all([
    purging.invalidate(byTag('a')),
    purging.invalidate(of({ scope: 'urls', urls: [draft('b').url] })),
    purging.invalidate({ ...byTag('c'), soft: true }),
    purging.invalidate(of({ scope: 'tags', tags: ['nothing'] }, { scope: 'urls', urls: [draft('nowhere').url] })),
  ])
  expect(outcomes.map(({ pagesRemoved }) => pagesRemoved)).toEqual([1, 1, 1, 0])
  expect(['a', 'b', 'c', 'd'].map((name) => pages.find(draft(name).key)[0]?.staleAt)).toEqual([
    undefined,
    undefined,
    aMoment,
    aMoment + 60_000,
  ])
})

it('a group fences pages that are being fetched, whichever of its purges selects them', async () => {
  const { purging, pages } = await openPurges()
  const fence = pages.fence()
  await Promise.all([
    purging.invalidate(byTag('x')),
    purging.invalidate(byTag('y')),
    purging.invalidate(of({ scope: 'urls', urls: [draft('c').url] })),
  ])
  expect(await pages.put(draft('a', { tags: ['x'] }), Buffer.from('old'), fence)).toBe('invalidated')
  expect(await pages.put(draft('b', { tags: ['y'] }), Buffer.from('old'), fence)).toBe('invalidated')
  expect(await pages.put(draft('c', { tags: [] }), Buffer.from('old'), fence)).toBe('invalidated')
  expect(await pages.put(draft('d', { tags: ['z'] }), Buffer.from('new'), fence)).toHaveProperty('id')
})

it('a tag with many pages does not delay others and is purged completely', async () => {
  const { purging, pages, records } = await openPurges()
  await Promise.all(Array.from({ length: 600 }, (_, n) => store(pages, `p${n}`, { tags: ['large'] })))
  await store(pages, 'a', { tags: ['small'] })
  // What does not fit into the group is removed only after the other purge was answered.
  const answered = Promise.withResolvers<void>()
  const remove = pages.remove.bind(pages)
  const rest = vi
    .spyOn(pages, 'remove')
    .mockImplementation((...removal) => answered.promise.then(() => remove(...removal)))
  const [large, small] = await Promise.all([
    purging.invalidate(byTag('large')),
    purging.invalidate(byTag('small')).finally(() => answered.resolve()),
  ])
  expect(rest).toHaveBeenCalledOnce()
  expect([large!.pagesRemoved, small!.pagesRemoved]).toEqual([600, 1])
  await purging.catchUp()
  const { items } = await listRecent(records.db, range)
  expect(items.map(({ tag, pagesRemoved }) => [tag, pagesRemoved]).sort()).toEqual([
    ['large', 600],
    ['small', 1],
  ])
  expect((await readPurgeStatistics(records.db, aMoment)).overview.distinctUrls).toBe(601)
})

it('many concurrent purges of everything clear once or twice and are all logged', async () => {
  const { purging, pages, records } = await openPurges()
  for (let n = 0; n < 5; n += 1) await store(pages, `p${n}`)
  const { generation } = pages.fence()
  const outcomes = await Promise.all(Array.from({ length: 12 }, () => purging.invalidate(of({ scope: 'all' }))))
  expect(outcomes.map(({ pagesRemoved }) => pagesRemoved).sort()).toEqual([...Array.from({ length: 11 }, () => 0), 5])
  expect(pages.fence().generation).not.toBe(generation)
  expect((await listRecent(records.db, range)).total).toBe(12)
  expect(
    await records.db.selectFrom('invalidations').select('intent').where('intent', 'is not', null).execute(),
  ).toEqual([])
})

it('a wide purge that waits for others for five seconds is refused, without a trace', async () => {
  const { purging, pages, records } = await openPurges()
  await store(pages, 'a', { type: 'buybox' })
  const remove = pages.remove.bind(pages)
  const gate = Promise.withResolvers<void>()
  vi.spyOn(pages, 'remove').mockImplementation((...removal) => gate.promise.then(() => remove(...removal)))
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const others = pageTypes.slice(0, 4).map((type) => purging.invalidate(of({ scope: 'type', type })))
  await vi.waitUntil(() => vi.mocked(pages.remove).mock.calls.length === 4, { timeout: 120_000 })
  const late = Promise.allSettled([purging.invalidate(of({ scope: 'type', type: 'buybox' }))])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await late).toMatchObject([{ status: 'rejected', reason: { code: 'STORE_BUSY' } }])
  gate.resolve()
  await Promise.all(others)
  expect(await pages.count({ kind: 'all' })).toBe(1)
  expect((await listRecent(records.db, range)).total).toBe(4)
  expect((await purging.invalidate(of({ scope: 'type', type: 'buybox' }))).pagesRemoved).toBe(1)
})

it('a group that cannot be recorded is retried one by one, so that only the faulty purge fails', async () => {
  const directory = await tempDir()
  const now = () => aMoment
  const others = await openRecords({ directory: join(directory, 'data'), now })
  const real = openQueue(others, now)
  let calls = 0
  const queue: Pick<typeof real, 'dispatch'> = {
    async dispatch(messages, transaction) {
      calls += 1
      if (calls === 1 || calls === 3) throw new PagecacheError('STORE_FULL', 'no room')
      return real.dispatch(messages, transaction)
    },
  }
  const { purging, pages, records } = await openPurges({ directory, proxies: ['varnish-1'], queue })
  for (const name of ['a', 'b', 'c']) await store(pages, name, { tags: [name] })
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((tag) => purging.invalidate(byTag(tag))))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((await listRecent(records.db, range)).items.map(({ tag }) => tag)).toEqual(['c', 'a'])
  await purging.catchUp()
  expect(
    (await listRecent(records.db, range)).items.map(({ tag, pagesRemoved }) => [tag, pagesRemoved]).sort(),
  ).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ])
  await others.close()
})

it('while another process locks the records, purges wait and fail, but their pages are removed', async () => {
  const { purging, pages, records, directory } = await openPurges()
  for (let n = 0; n < 10; n += 1) await store(pages, `p${n}`, { tags: [`t${n}`] })
  const unlock = await lockRecords(join(directory, 'data'))
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => purging.invalidate(byTag(`t${n}`))))
  await unlock()
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_BUSY' } })
  expect(await pages.count({ kind: 'all' })).toBe(0)
  expect((await listRecent(records.db, range)).total).toBe(0)
  await purging.invalidate(byTag('t1'))
  expect((await listRecent(records.db, range)).total).toBe(1)
})
