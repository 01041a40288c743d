import { expect, it } from 'vitest'
import { softenedOf } from '../../src/purge/budget.ts'
import type { Invalidation, Target } from '../../src/purge/invalidation.ts'
import { readItems } from '../../src/purge/log/purge-items.ts'
import { isRecordingUrls, readPurgedPages } from '../../src/purge/log/purged-pages.ts'
import { toKeys } from '../../src/purge/purge-key.ts'
import { afterPurgeMessage } from '../../src/warmup/after-purge.ts'
import { aMoment, origin, store } from '../stores/pages.ts'
import { openPurges } from './purges.ts'

const budget = { softAbove: 0.4, fewest: 1, followUp: afterPurgeMessage(1_000) }
const id = '0190c0de000070008000000000000001'

/** Ten pages: `menu` is on all, `half` on five, `few` on four, which is exactly 40 %. */
async function openBudget(options: Parameters<typeof openPurges>[0] = {}) {
  const opened = await openPurges({ budget, ...options })
  for (let number = 0; number < 10; number += 1) {
    const tags = ['menu', ...(number < 5 ? ['half'] : []), ...(number < 4 ? ['few'] : []), `own-${number}`]
    await store(opened.pages, String(number), { tags })
  }
  return opened
}

function of(targets: Target[], changes: Partial<Invalidation> = {}): Invalidation {
  return { targets, soft: false, source: 'cli', actor: null, ...changes }
}

type Opened = Awaited<ReturnType<typeof openBudget>>

/** The pages that are left, and whether they are fresh. */
function left({ pages }: Pick<Opened, 'pages'>): Record<string, 'fresh' | 'stale'> {
  const { items } = pages.list({ limit: 100, offset: 0 })
  return Object.fromEntries(
    items
      .toSorted((a, b) => a.url.localeCompare(b.url))
      .map((page) => [page.url.slice(origin.length + 1), page.staleAt > aMoment ? 'fresh' : 'stale']),
  )
}

async function logged({ records }: Pick<Opened, 'records'>) {
  const rows = await records.db.selectFrom('purges').select('id').orderBy('id').execute()
  const items = await readItems(
    records.db,
    rows.map((row) => row.id),
  )
  return items.map(({ tag, mode, pagesRemoved }) => ({ tag, mode, pagesRemoved }))
}

it('a tag on more than the share of all pages is purged softly, at the proxies too, and its pages are to be warmed again', async () => {
  const opened = await openBudget({ proxies: ['varnish'] })
  const { purging, records } = opened
  const result = await purging.invalidate(of([{ scope: 'tags', tags: ['half', 'few', 'nothing'] }]))
  expect(result).toMatchObject({ pagesRemoved: 5, softened: [{ tag: 'half', pages: 5, share: 0.5 }] })
  // Four pages have both tags: they are removed and counted once.
  expect(left(opened)).toEqual({ 4: 'stale', 5: 'fresh', 6: 'fresh', 7: 'fresh', 8: 'fresh', 9: 'fresh' })
  expect(await logged(opened)).toEqual([
    { tag: 'half', mode: 'softened', pagesRemoved: 1 },
    { tag: 'few', mode: 'hard', pagesRemoved: 4 },
    { tag: 'nothing', mode: 'hard', pagesRemoved: 0 },
  ])
  const deliveries = await records.db
    .selectFrom('purge_deliveries')
    .select(['key', 'soft'])
    .orderBy('purge_id')
    .execute()
  expect(deliveries).toEqual([
    { key: 'half', soft: 1 },
    { key: 'few', soft: 0 },
    { key: 'nothing', soft: 0 },
  ])
  const messages = await records.db.selectFrom('queue_messages').select('type').orderBy('type').execute()
  expect(messages).toEqual([{ type: 'purge.deliver' }, { type: 'warmup.afterPurge' }])
  expect(await urlsOf(readPurgedPages(records, 0, 'softened'))).toEqual([`${origin}/4`])
  expect(await urlsOf(readPurgedPages(records, 0, { tags: ['few'] }))).toEqual(
    [0, 1, 2, 3].map((name) => `${origin}/${name}`),
  )
  expect(await urlsOf(readPurgedPages(records, 0, { tags: ['unknown'] }))).toEqual([])
})

it('a tag on exactly the share, a hard purge and a soft one by request are left as they are', async () => {
  const opened = await openBudget()
  const purge = (tags: string[], changes: Partial<Invalidation> = {}) =>
    opened.purging.invalidate(of([{ scope: 'tags', tags }], changes))
  expect(await purge(['few'])).toMatchObject({ pagesRemoved: 4, softened: [] })
  expect(await purge(['own-4'], { soft: true })).toMatchObject({ pagesRemoved: 1, softened: [] })
  expect(left(opened)).toEqual({ 4: 'stale', 5: 'fresh', 6: 'fresh', 7: 'fresh', 8: 'fresh', 9: 'fresh' })
  expect(await purge(['menu'], { hard: true })).toMatchObject({ pagesRemoved: 6, softened: [] })
  expect(left(opened)).toEqual({})
  expect(await logged(opened)).toEqual([
    { tag: 'few', mode: 'hard', pagesRemoved: 4 },
    { tag: 'own-4', mode: 'soft', pagesRemoved: 1 },
    { tag: 'menu', mode: 'hard', pagesRemoved: 6 },
  ])
  expect(await opened.records.db.selectFrom('queue_messages').select('type').execute()).toEqual([])
})

it('purges of everything, a type, URLs and patterns are never made soft', async () => {
  for (const target of [
    { scope: 'all' },
    { scope: 'type', type: 'products' },
    { scope: 'urls', urls: Array.from({ length: 10 }, (_, name) => `${origin}/${name}`) },
    { scope: 'pattern', pattern: '/' },
  ] satisfies Target[]) {
    const opened = await openBudget()
    expect(await opened.purging.invalidate(of([target]))).toMatchObject({ pagesRemoved: 10, softened: [] })
    expect(left(opened)).toEqual({})
  }
})

it('tags of records that can be deactivated are never made soft, whether they are purged by name or by entity', async () => {
  const { pages } = await openPurges()
  const hard = ['product', 'category-route', 'product-listing', 'landing-page-route', 'system.config'].map(
    (prefix) => `${prefix}-${id}`,
  )
  const soft = ['cms-page', 'theme-config', 'translator', 'product-stream'].map((prefix) => `${prefix}-${id}`)
  await store(pages, 'a', { tags: [...hard, ...soft, 'navigation'] })
  const softened = async (...targets: Target[]) =>
    [...(await softenedOf(pages, 0, toKeys(targets), { soft: false }, 1)).values()].map(({ tag }) => tag)
  expect(await softened({ scope: 'tags', tags: [...hard, ...soft, 'navigation'] })).toEqual([...soft, 'navigation'])
  expect(await softened({ scope: 'entity', type: 'product', id, number: null })).toEqual([])
  expect(await softened({ scope: 'entity', type: 'sales_channel', id, number: null })).toEqual([])
  expect(await softened({ scope: 'entity', type: 'cms_page', id, number: null })).toEqual([`cms-page-${id}`])
})

it('a tag on a few pages is purged hard, whatever share of a small cache they are', async () => {
  const { pages } = await openPurges()
  const softened = async () => [
    ...(await softenedOf(pages, 0.2, toKeys([{ scope: 'tags', tags: ['menu'] }]), { soft: false })).values(),
  ]
  await Promise.all(Array.from({ length: 49 }, (_, number) => store(pages, String(number), { tags: ['menu'] })))
  expect(await softened()).toEqual([])
  await store(pages, '49', { tags: ['menu'] })
  expect(await softened()).toEqual([{ tag: 'menu', pages: 50, share: 1 }])
})

it('an empty cache softens nothing, and a cleared one does not count its former pages', async () => {
  const opened = await openBudget()
  await opened.purging.invalidate(of([{ scope: 'all' }]))
  expect(await opened.purging.invalidate(of([{ scope: 'tags', tags: ['menu'] }]))).toMatchObject({ softened: [] })
  for (const [name, tags] of [
    ['a', ['half']],
    ['b', []],
    ['c', []],
  ] as const)
    await store(opened.pages, name, { tags })
  expect(await opened.purging.invalidate(of([{ scope: 'tags', tags: ['half'] }]))).toMatchObject({ softened: [] })
  expect(left(opened)).toEqual({ b: 'fresh', c: 'fresh' })
})

it('a purge that a crash interrupted stays soft for the tags that it was soft for', async () => {
  const opened = await openBudget()
  const keys = [
    { kind: 'tag', tag: 'few', entity: null, softened: true },
    { kind: 'tag', tag: 'own-9', entity: null },
  ]
  await opened.records.db
    .insertInto('invalidations')
    .values({
      created_at: aMoment,
      source: 'cli',
      actor: null,
      scope: 'tags',
      value: 'few own-9',
      soft: 0,
      intent: JSON.stringify(keys),
      owner: null,
      recorded: null,
      trace: null,
    })
    .execute()
  expect(await opened.purging.catchUp()).toBeGreaterThan(0)
  const { 0: first, 9: last, ...others } = left(opened)
  expect({ first, last, fresh: others[8] }).toEqual({ first: 'stale', last: undefined, fresh: 'fresh' })
  expect(await logged(opened)).toEqual([
    { tag: 'few', mode: 'softened', pagesRemoved: 4 },
    { tag: 'own-9', mode: 'hard', pagesRemoved: 1 },
  ])
})

it('the URLs of a purge of many pages are all recorded before their warmup starts', async () => {
  const { purging, pages, records } = await openPurges({ budget })
  const drafts = Array.from({ length: 510 }, (_, number) => String(number))
  await Promise.all(drafts.map((name) => store(pages, name, { tags: ['menu'] })))
  await purging.invalidate(of([{ scope: 'tags', tags: ['menu'] }]))
  expect(await isRecordingUrls(records, 0)).toBe(true)
  await purging.catchUp()
  expect(await isRecordingUrls(records, 0)).toBe(false)
  expect(await urlsOf(readPurgedPages(records, 0, 'softened'))).toHaveLength(510)
})

async function urlsOf(batches: ReturnType<typeof readPurgedPages>): Promise<string[]> {
  const urls: string[] = []
  for await (const batch of batches) urls.push(...batch.map(({ url }) => url))
  return urls.toSorted()
}

it('others get a turn while the pages of many tags are counted', async () => {
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  const busy = () => {
    for (const end = performance.now() + 1; performance.now() < end;);
    return Promise.resolve(1)
  }
  const tags = Array.from({ length: 100 }, (_, number) => `t${number}`)
  await softenedOf({ count: busy }, 0.4, toKeys([{ scope: 'tags', tags }]), { soft: false })
  clearInterval(timer)
  expect(turns).toBeGreaterThan(5)
})
