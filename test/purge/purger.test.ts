import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Lease } from '../../src/cluster/lease.ts'
import type { Selection } from '../../src/pages/page-store.ts'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import type { DeliverySetup } from '../../src/purge/deliver/open-delivery.ts'
import type { Invalidation } from '../../src/purge/invalidation.ts'
import { listRecent } from '../../src/purge/log/purge-log.ts'
import { openPurger } from '../../src/purge/purger.ts'
import { openPurging } from '../../src/purge/purging.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import type { ConsumeEvent } from '../../src/queue/consume-event.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { onPostgres } from '../helpers/on-postgres.ts'
import { execute } from '../helpers/postgres.ts'
import { openRecords, testDatabase } from '../helpers/records.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { draft, openPages, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

const range = { limit: 1, offset: 0 }

/** Purges in a thread, with a page store and records of its own. */
async function openThread() {
  const directory = await tempDir()
  const [dataDir, cacheDir] = [join(directory, 'data'), join(directory, 'cache')]
  const { pages } = await openPages({ directory: cacheDir, now: Date.now })
  const records = await openRecords({ directory: dataDir, now: Date.now })
  onTestFinished(() => records.close())
  const told: Selection[] = []
  pages.onRemoved((selection) => told.push(selection))
  const errors: string[] = []
  const purging = await openPurger({
    records: { directory: dataDir, postgres: testDatabase() },
    cacheDir,
    maxSize: 1e9,
    maxVariants: 64,
    proxies: ['varnish-1'],
    followUp: null,
    budget: null,
    pages,
    onError: (message) => errors.push(message),
  })
  onTestFinished(() => purging.close())
  return { purging, pages, records, told, errors, dataDir, cacheDir }
}

function byTag(...tags: string[]): Invalidation {
  return { targets: [{ scope: 'tags', tags }], soft: false, source: 'purge-method', actor: null }
}

const lasting = { deleteAt: Date.now() + 3_600_000 }

it('a purge of the thread takes effect here before it is answered', async () => {
  const { purging, pages, records, told } = await openThread()
  await store(pages, 'a', { tags: ['t'], ...lasting })
  const fence = pages.fence()
  const answered = purging.invalidate(byTag('t')).then((value) => ({ value, told: [...told] }))
  expect(await answered).toMatchObject({ value: { pagesRemoved: 1 }, told: [{ kind: 'tags', tags: ['t'] }] })
  expect(pages.find(draft('a').key)).toEqual([])
  expect(pages.holds(fence)).toBe(false)
  expect(await pages.put(draft('a', { tags: ['t'], ...lasting }), Buffer.from('old'), fence)).toBe('invalidated')
  expect((await listRecent(records.db, range)).items).toMatchObject([
    { tag: 't', pagesRemoved: 1, proxies: [{ status: 'pending' }] },
  ])
})

it('an error of the thread is rethrown unchanged', async () => {
  const { purging } = await openThread()
  await expect(purging.invalidate(byTag('a b'))).rejects.toMatchObject({ code: 'INVALID_INPUT', status: 400 })
  await expect(purging.invalidate({ ...byTag(), targets: [{ scope: 'pattern', pattern: '(' }] })).rejects.toMatchObject(
    { code: 'INVALID_INPUT' },
  )
})

it.runIf(onPostgres)('a purge thread that gets no connection for leases closes its other connections', async () => {
  const directory = await tempDir()
  const { pages } = await openPages({ directory: join(directory, 'cache'), now: Date.now })
  const { url } = testDatabase()!
  await execute(url, 'create role limited login in role pagecache connection limit 1')
  onTestFinished(() => execute(url, 'drop role limited').then(() => {}))
  const node = { member: 'm', node: 'n', lease: 1000, alone: 0, version: '', address: null }
  const opening = openPurger({
    records: { directory, postgres: { ...testDatabase()!, url: url.replace('pagecache@', 'limited@') } },
    cacheDir: join(directory, 'cache'),
    maxSize: 1e9,
    maxVariants: 64,
    proxies: [],
    followUp: null,
    budget: null,
    pages,
    onError: () => {},
    node: { ...node, memory: new Lease().memory },
  })
  await expect(opening).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  await until(async () => {
    const connections = "select 1 from pg_stat_activity where usename = 'limited'"
    expect((await execute(url, connections)).rows).toEqual([])
  })
})

it('a purge that waits for pages to be stored is answered although its thread is closed', async () => {
  const { purging, pages } = await openThread()
  const stored = Promise.withResolvers<void>()
  pages.waiting = () => ({ pages: 1, bytes: 1 })
  pages.settled = () => stored.promise
  const purged = purging.invalidate(byTag('t'))
  const closed = purging.close()
  stored.resolve()
  expect(await purged).toMatchObject({ pagesRemoved: 0 })
  await closed
})

it('too many purges are refused, and no answered purge is lost', async () => {
  const { purging, records } = await openThread()
  const outcomes = await Promise.allSettled(Array.from({ length: 2_500 }, (_, n) => purging.invalidate(byTag(`t${n}`))))
  const refused = outcomes.filter(({ status }) => status === 'rejected')
  // More where the machine is so slow that some have waited for too long.
  expect(refused.length).toBeGreaterThanOrEqual(500)
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: 'STORE_BUSY', status: 503 } })
  expect((await listRecent(records.db, range)).total).toBe(2_500 - refused.length)
  await purging.invalidate(byTag('t'))
  const huge = Array.from({ length: 40 }, (_, n) => String(n).padStart(1_000, 'x'))
  const large = await Promise.allSettled(Array.from({ length: 1_000 }, () => purging.invalidate(byTag(...huge))))
  expect(
    large.some(
      (outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code === 'STORE_BUSY',
    ),
  ).toBe(true)
  expect(large.some(({ status }) => status === 'fulfilled')).toBe(true)
})

it('purges accepted before closing are carried out', async () => {
  const { purging, records } = await openThread()
  const answers = Promise.all(Array.from({ length: 30 }, (_, n) => purging.invalidate(byTag(`t${n}`))))
  await purging.close()
  await answers
  expect((await listRecent(records.db, range)).total).toBe(30)
  await expect(purging.invalidate(byTag('late'))).rejects.toMatchObject({ code: 'STORE_BUSY' })
})

/** A reverse proxy that notes the tags it was told to purge. */
async function startProxy() {
  const tags = new Set<string>()
  const proxy = await startOrigin({
    otherwise: ({ headers }) => {
      for (const tag of String(headers['xkey']).split(' ')) tags.add(tag)
      return { body: 'taken' }
    },
  })
  onTestFinished(() => proxy.stop())
  const setup: DeliverySetup = {
    proxies: [{ name: 'varnish-1', url: proxy.url }],
    upstream: [],
    settings: { timeout: 60_000, retryFor: 600_000, everythingAbove: 100_000, settle: 0, slowAfter: 60_000 },
  }
  return { tags, setup }
}

describe('deliveries in the thread', () => {
  it('run until they are stopped, and leave the queue empty', async () => {
    const { purging, records } = await openThread()
    const { tags, setup } = await startProxy()
    const stop = new AbortController()
    const delivering = purging.deliver!(setup, { stop: stop.signal, onEvent: () => {} })
    const purged = Array.from({ length: 40 }, (_, n) => `t${n}`)
    await Promise.all(purged.map((tag) => purging.invalidate(byTag(tag))))
    await until(async () => {
      const open = await records.db
        .selectFrom('purge_deliveries')
        .select('purge_id')
        .where('status', '!=', 'delivered')
        .execute()
      expect(open).toEqual([])
      expect(await records.db.selectFrom('queue_messages').select('id').execute()).toEqual([])
    })
    expect([...tags].sort()).toEqual(purged.sort())
    stop.abort()
    await delivering
    expect(await records.db.selectFrom('queue_workers').select('id').execute()).toEqual([])
  })

  it('end when the purges are closed, also with too many purges waiting', async () => {
    const { purging } = await openThread()
    const { setup } = await startProxy()
    const delivering = purging.deliver!(setup, { stop: new AbortController().signal, onEvent: () => {} })
    const purges = Promise.allSettled(Array.from({ length: 2_100 }, (_, n) => purging.invalidate(byTag(`t${n}`))))
    await purging.close()
    await Promise.all([purges, delivering])
  })

  it('report their events', async () => {
    const { purging } = await openThread()
    const { setup } = await startProxy()
    const events: ConsumeEvent[] = []
    const stop = new AbortController()
    const unreachable = { ...setup, proxies: [{ name: 'varnish-1', url: 'http://127.0.0.1:9' }] }
    const expired = { ...unreachable, settings: { ...setup.settings, retryFor: -1_000 } }
    const delivering = purging.deliver!(expired, { stop: stop.signal, onEvent: (event) => events.push(event) })
    await purging.invalidate(byTag('t'))
    await until(() => expect(events).toMatchObject([{ kind: 'failed', message: { type: 'purge.deliver' } }]))
    stop.abort()
    await delivering
  })
})

it('an unlogged removal also runs in the thread and takes effect before it is answered', async () => {
  const { pages, purging, records, told } = await openThread()
  for (const name of ['a', 'b']) await store(pages, name, { ...lasting, tags: [name] })
  expect(
    await Promise.all([
      pages.remove({ kind: 'urls', urls: [draft('a').url] }),
      pages.remove({ kind: 'tags', tags: ['b'] }),
    ]),
  ).toEqual([1, 1])
  expect(told.map(({ kind }) => kind).sort()).toEqual(['tags', 'urls'])
  expect(pages.counters().products.count).toBe(0)
  expect((await listRecent(records.db, range)).total).toBe(0)
  await purging.close()
  await store(pages, 'c', { ...lasting, tags: ['c'] })
  expect(await pages.remove({ kind: 'tags', tags: ['c'] })).toBe(1)
})

it('an intent of an ended thread is carried out by the next one, and so is one of its own that it does not know; that of a living thread is left alone', async () => {
  const { purging, pages, records, cacheDir } = await openThread()
  await purging.close()
  await store(pages, 'a', { ...lasting, tags: ['dead'] })
  await store(pages, 'b', { ...lasting, tags: ['living'] })
  await store(pages, 'c', { ...lasting, tags: ['forgotten'] })
  const add = async (tag: string, thread: number) => {
    const intent = JSON.stringify([{ kind: 'tag', tag, entity: null }])
    await records.db
      .insertInto('invalidations')
      .values({
        created_at: Date.now(),
        source: 'api',
        actor: null,
        scope: 'tags',
        value: tag,
        soft: 0,
        intent,
        owner: JSON.stringify({ ...thisProcess(), thread }),
        recorded: null,
        trace: null,
      })
      .execute()
  }
  await add('dead', 7)
  await add('living', 8)
  const clearDirectory = (trace: number | null) => clearApplicationCache(cacheDir, trace)
  const next = await openPurging({
    records,
    pages,
    queue: openQueue(records, Date.now),
    now: Date.now,
    owner: { ...thisProcess(), thread: 9 },
    endedThreads: [7],
    proxies: [],
    followUp: null,
    budget: null,
    clearDirectory,
  })
  onTestFinished(() => next.close())
  expect([pages.find(draft('a').key), pages.find(draft('b').key)]).toMatchObject([[], [{ url: draft('b').url }]])
  expect((await listRecent(records.db, range)).items).toMatchObject([{ tag: 'dead' }])
  // The connection was lost before the commit was acknowledged.
  await add('forgotten', 9)
  await Promise.all([next.catchUp(), next.catchUp()])
  const recorded = async () => (await listRecent(records.db, { ...range, limit: 9 })).items
  await until(async () => (await recorded()).length > 1)
  expect(await recorded()).toMatchObject([{ tag: 'forgotten' }, { tag: 'dead' }])
  expect([pages.find(draft('b').key), pages.find(draft('c').key)]).toMatchObject([[{ url: draft('b').url }], []])
})
