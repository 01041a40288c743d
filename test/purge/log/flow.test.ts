import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Invalidation, Target } from '../../../src/purge/invalidation.ts'
import { readPurgeStatistics } from '../../../src/purge/log/statistics.ts'
import { listInvalidations } from '../../../src/purge/log/invalidation-log.ts'
import { findByNumber, listRecent, listUrls, readTimeline, readUrlFlow } from '../../../src/purge/log/purge-log.ts'
import { accepted, aMoment, draft, store } from '../../stores/pages.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { openPurges } from '../purges.ts'
import { until } from '../../helpers/until.ts'

const url = draft('a').url
const range = { limit: 50, offset: 0 }
const id = '0190c0de000070008000000000000001'

function of(...targets: Target[]): Invalidation {
  return { targets, soft: false, source: 'cli', actor: null }
}

const ways: readonly (readonly [Target['scope'], Target, Record<string, unknown>])[] = [
  ['urls', { scope: 'urls', urls: [url] }, { kind: 'url', url }],
  ['tags', { scope: 'tags', tags: ['t'] }, { kind: 'tag', tag: 't', url: null }],
  [
    'entity',
    { scope: 'entity', type: 'cms_page', id, number: null },
    { kind: 'entity', tag: `cms-page-${id}`, entityType: 'cms_page', entityId: id },
  ],
  ['type', { scope: 'type', type: 'products' }, { kind: 'type', type: 'products', value: null, url: null, tag: null }],
  ['pattern', { scope: 'pattern', pattern: 'a$' }, { kind: 'url', url: 'a$' }],
  ['all', { scope: 'all' }, { kind: 'all', type: null, value: null, url: null, tag: null }],
]

describe('the flow of a URL', () => {
  it.each(ways)('names a purge by %s', async (_, target, item) => {
    const { purging, pages, records } = await openPurges()
    await store(pages, 'a', { url, tags: ['t', 'u', `cms-page-${id}`] })
    await store(pages, 'b', { url: `${url}/b`, tags: [] })
    const { pagesRemoved, invalidationId } = await purging.invalidate(of(target))
    expect(pagesRemoved).toBe(target.scope === 'all' || target.scope === 'type' ? 2 : 1)
    const { items: flow } = await readUrlFlow(records.db, url, range)
    expect(flow).toMatchObject([{ ...item, invalidationId, source: 'cli', pagesRemoved, proxies: [] }])
    expect((await listUrls(records.db, range)).items).toContainEqual({
      url,
      purges: 1,
      lastPurgedAt: new Date(aMoment).toISOString(),
    })
  })

  it('contains the clear of the whole application cache', async () => {
    const { purging, pages, records } = await openPurges()
    await store(pages, 'a', { url })
    const { pagesRemoved } = await purging.invalidate({
      ...of({ scope: 'all', value: 'application-cache' }),
      wholeDirectory: true,
    })
    expect(pagesRemoved).toBe(1)
    expect((await readUrlFlow(records.db, url, range)).items).toMatchObject([
      { kind: 'all', value: 'application-cache', pagesRemoved: 1 },
    ])
    expect((await listInvalidations(records.db, range)).items).toMatchObject([
      { scope: 'all', value: 'application-cache' },
    ])
  })

  it('is in the order of the purges, and includes URLs without a cached page', async () => {
    const { purging, pages, records } = await openPurges()
    await purging.invalidate(of({ scope: 'urls', urls: [url] }))
    for (const tags of [['t'], ['u']]) {
      await store(pages, 'a', { url, tags })
      await purging.invalidate(of({ scope: 'tags', tags: ['t', 'u'] }))
    }
    const { items: flow } = await readUrlFlow(records.db, url, range)
    expect(flow.map((item) => [item.kind, item.tag, item.pagesRemoved])).toEqual([
      ['url', null, 0],
      ['tag', 't', 1],
      ['tag', 'u', 1],
    ])
    expect(await readUrlFlow(records.db, url, { limit: 2, offset: 0 })).toEqual({ total: 3, items: flow.slice(1) })
    expect(await readUrlFlow(records.db, url, { limit: 2, offset: 1 })).toEqual({ total: 3, items: flow.slice(0, 2) })
    expect(await readUrlFlow(records.db, url, { limit: 2, offset: 3 })).toEqual({ total: 3, items: [] })
    expect(await readUrlFlow(records.db, 'http://nowhere.example/', range)).toEqual({ total: 0, items: [] })
  })

  it('is chronological even if a purge was recorded after a later one', async () => {
    let now = aMoment
    const { purging, records } = await openPurges({ now: () => now })
    await purging.invalidate(of({ scope: 'urls', urls: [url] }))
    // As after the recovery of a crashed purge.
    now -= 1_000
    await purging.invalidate(of({ scope: 'tags', tags: [`product-${id}`] }, { scope: 'urls', urls: [url] }))
    const { items } = await readUrlFlow(records.db, url, range)
    expect(items.map(({ createdAt }) => Date.parse(createdAt) - aMoment)).toEqual([-1_000, 0])
  })

  it.each([
    ['tags', { scope: 'tags', tags: ['t'] }],
    ['type', { scope: 'type', type: 'products' }],
    ['all', { scope: 'all' }],
  ] as const)(
    'of each of 1,300 pages names the purge by %s that took them, with its exact number',
    async (_, target) => {
      const { purging, pages, records } = await openPurges()
      await Promise.all(
        Array.from({ length: 1_300 }, (__, n) => store(pages, `p${n}`, { url: `${url}/${n}`, tags: ['t'] })),
      )
      const { pagesRemoved } = await purging.invalidate(of(target))
      expect(pagesRemoved).toBe(1_300)
      await until(async () => expect((await listUrls(records.db, range)).total).toBe(1_300))
      expect((await readUrlFlow(records.db, `${url}/1234`, range)).items).toMatchObject([{ pagesRemoved: 1_300 }])
      await until(async () =>
        (await records.db.selectFrom('invalidations').select('trace').execute()).every(({ trace }) => trace === null),
      )
      expect((await readPurgeStatistics(records.db, aMoment)).overview).toMatchObject({
        totalPurges: 1,
        distinctUrls: 1_300,
      })
    },
  )
})

describe('a clear while the URLs of a wide purge are being recorded', () => {
  it.each([
    ['all', { scope: 'all' }, false],
    ['the whole directory', { scope: 'all', value: 'application-cache' }, true],
  ] as const)('of %s loses none of them, and leaves nothing behind', async (_, target, wholeDirectory) => {
    const directory = await tempDir()
    const first = await openPurges({ directory })
    await Promise.all(
      Array.from({ length: 1_600 }, (__, n) => store(first.pages, `p${n}`, { url: `${url}/${n}`, tags: ['t'] })),
    )
    expect((await first.purging.invalidate(of({ scope: 'tags', tags: ['t'] }))).pagesRemoved).toBe(1_600)
    // It stops after at most one more slice, like a process that is killed.
    await first.purging.close()
    expect((await listUrls(first.records.db, range)).total).toBeLessThan(1_600)
    const { purging, pages, records } = await openPurges({ directory })
    await store(pages, 'a', { url, tags: ['t'] })
    expect((await purging.invalidate({ ...of(target), wholeDirectory })).pagesRemoved).toBe(1)
    await purging.catchUp()
    expect((await listUrls(records.db, range)).total).toBe(1_601)
    expect((await readUrlFlow(records.db, `${url}/1599`, range)).items).toMatchObject([{ kind: 'tag', tag: 't' }])
    expect((await readUrlFlow(records.db, url, range)).items).toMatchObject([{ kind: 'all' }])
    await purging.catchUp()
    expect(pages.unreleased(Infinity)).toEqual([])
    expect(readdirSync(join(directory, 'cache')).filter((name) => name.startsWith('.cleared-'))).toEqual([])
  })
})

describe('a page that is being fetched while it is purged', () => {
  it.each(ways)('by %s is not cached afterwards', async (_, target) => {
    const { purging, pages } = await openPurges()
    const fetched = draft('a', { url, tags: ['t', `cms-page-${id}`] })
    const fence = pages.fence()
    await purging.invalidate(of(target))
    expect(await pages.put(fetched, Buffer.from('from before the purge'), fence)).toBe('invalidated')
    expect(pages.find(fetched.key)).toEqual([])
    expect(await pages.put(fetched, Buffer.from('from after it'), pages.fence())).toHaveProperty('id')
  })
})

describe("an entity's timeline", () => {
  it('contains purges of the entity and of tags that name it, and no others', async () => {
    const { purging, records } = await openPurges()
    await purging.invalidate(of({ scope: 'entity', type: 'product', id, number: 'SW1' }))
    await purging.invalidate(
      of({
        scope: 'tags',
        tags: [`product-${id}`, `product-listing-${id}`, 'product-list', `product-detail-route-${id.toUpperCase()}`],
      }),
    )
    const { items: timeline, total } = await readTimeline(records.db, { type: 'product', id }, range)
    expect(total).toBe(3)
    expect(await readTimeline(records.db, { type: 'product', id }, { limit: 2, offset: 0 })).toEqual({
      total: 3,
      items: timeline.slice(1),
    })
    expect(timeline.map((item) => [item.kind, item.tag, item.entityNumber])).toEqual([
      ['entity', `product-${id}`, 'SW1'],
      ['tag', `product-${id}`, 'SW1'],
      ['tag', `product-detail-route-${id.toUpperCase()}`, 'SW1'],
    ])
    expect((await readTimeline(records.db, { type: 'category', id }, range)).items.map((item) => item.tag)).toEqual([
      `product-listing-${id}`,
    ])
    const { items } = await listRecent(records.db, range)
    expect(items.find((item) => item.tag === 'product-list')).toMatchObject({ entityType: null, entityId: null })
  })
})

it('the number of an entity is saved although a purge also names its tag', async () => {
  const { purging, records } = await openPurges()
  await purging.invalidate({
    targets: [
      { scope: 'tags', tags: [`product-${id}`] },
      { scope: 'entity', type: 'product', id, number: 'SW1' },
    ],
    soft: false,
    source: 'api',
    actor: null,
  })
  expect(await findByNumber(records.db, 'product', 'SW1')).toEqual({ type: 'product', id })
  expect((await listRecent(records.db, range)).items).toMatchObject([
    { kind: 'entity', tag: `product-${id}`, entityNumber: 'SW1' },
  ])
})

describe('a soft purge', () => {
  it('keeps the page as stale and fences pages that are being fetched', async () => {
    const { purging, pages } = await openPurges()
    const page = (await store(pages, 'a', { url, tags: ['t'], staleAt: aMoment + 60_000, staleWhileRevalidate: 30 }))!
    const fence = pages.fence()
    const soft = { ...of({ scope: 'tags', tags: ['t'] }), soft: true }
    expect((await purging.invalidate(soft)).pagesRemoved).toBe(1)
    expect(pages.find(page.key)).toMatchObject([{ id: page.id, staleAt: aMoment, staleWhileRevalidate: 30 }])
    expect(pages.counters().products.count).toBe(1)
    expect(await pages.put(draft('a', { url, tags: ['t'] }), Buffer.from('old'), fence)).toBe('invalidated')
    expect((await purging.invalidate(soft)).pagesRemoved).toBe(0)
    const renewed = accepted(
      await pages.freshen(page, draft('a', { url, tags: ['t'], staleAt: aMoment + 90_000 }), pages.fence()),
    )
    expect(pages.find(page.key)).toMatchObject([{ id: renewed.id, staleAt: aMoment + 90_000 }])
  })

  it('is refused for everything', async () => {
    const { purging } = await openPurges()
    await expect(purging.invalidate({ ...of({ scope: 'all' }), soft: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  })
})

describe('a pattern', () => {
  it('matches path and query on any host', async () => {
    const { purging, pages } = await openPurges()
    for (const [name, at] of [
      ['a', 'http://one.example/shoes?p=2'],
      ['b', 'https://two.example/shoes/'],
      ['c', 'http://shoes.example/'],
    ] as const) {
      await store(pages, name, { url: at })
    }
    expect((await purging.invalidate(of({ scope: 'pattern', pattern: '/shoes' }))).pagesRemoved).toBe(2)
    expect(pages.list({ limit: 10, offset: 0 }).items.map((page) => page.url)).toEqual(['http://shoes.example/'])
  })

  it.each(['(a+)+$', '(.*a){25}$', '(', '(?=a)', 'x'.repeat(2_000)])(
    'as nasty as %s is done or refused',
    async (pattern) => {
      const { purging, pages } = await openPurges()
      await store(pages, 'a', { url: `http://shop.example/${'a'.repeat(4_000)}!` })
      const outcome = purging.invalidate(of({ scope: 'pattern', pattern })).then(
        () => 'done',
        (error: { code: string }) => error.code,
      )
      expect(['done', 'INVALID_INPUT']).toContain(await outcome)
    },
  )

  it('fences pages that are being fetched, because their URLs may match', async () => {
    const { purging, pages } = await openPurges()
    const fence = pages.fence()
    await purging.invalidate(of({ scope: 'pattern', pattern: '/a' }))
    expect(await pages.put(draft('a', { url }), Buffer.from('old'), fence)).toBe('invalidated')
  })
})

describe('odd keys', () => {
  it.each(['', 'a b', 'a,b', 'a\u0000', 'a\n', '\u001b[2J', 'x'.repeat(1_025)])(
    'the tag %j is refused, and nothing is logged',
    async (tag) => {
      const { purging, records } = await openPurges()
      await expect(purging.invalidate(of({ scope: 'tags', tags: [tag] }))).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
      expect((await listRecent(records.db, range)).total).toBe(0)
    },
  )

  // More than one transaction takes (200) and more than one statement can bind (32,766).
  it('forty thousand tags in one request are purged', async () => {
    const { purging, pages, records } = await openPurges()
    await store(pages, 'a', { tags: ['t39999'] })
    const tags = Array.from({ length: 40_000 }, (_, n) => `t${n}`)
    expect((await purging.invalidate(of({ scope: 'tags', tags }))).pagesRemoved).toBe(1)
    const { total, items } = await listRecent(records.db, { limit: 2, offset: 0 })
    expect(total).toBe(40_000)
    expect(items).toMatchObject([
      { tag: 't39999', pagesRemoved: 1 },
      { tag: 't39998', pagesRemoved: 0 },
    ])
    expect((await readPurgeStatistics(records.db, aMoment)).overview.distinctTags).toBe(40_000)
  })
})
