import { describe, expect, test } from 'vitest'
import { pageTypes, type Page, type PageDraft, type PageType } from '../../src/pages/page.ts'
import type { PageStore, Selection, TypeCounters } from '../../src/pages/page-store.ts'
import { aMoment, bodyOf, clock, draft, origin, store, type Clock } from './pages.ts'

export interface SuiteOptions {
  maxSize?: number | null
  maxVariants?: number
  now?: () => number
}

/** What every implementation of `PageStore` keeps. `open` closes what it opened when the test is over. */
export function describePageStore(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: taking in and finding`, () => {
    test('a page comes back as it was stored', async () => {
      const pages = await open()
      const given = draft('a', {
        headers: [['set', 'x'], ['set', 'y'], ['link', '</é>; rel=preload']],
        vary: { accept: 'text/html', 'x-none': null },
        states: ['logged-in', 'cart-filled'],
        encoding: 'br',
        staleWhileRevalidate: 60,
        staleIfError: 600,
        noCache: true,
      })
      const stored = await pages.put(given, bodyOf('a'), pages.fence())
      expect(pages.find(given.key)).toEqual([stored])
      expect(stored).toMatchObject({ ...given, size: bodyOf('a').length, hits: 0, hitMs: 0 })
      expect(await pages.readBody(stored!)).toEqual(bodyOf('a'))
    })

    test('an empty body is a body', async () => {
      const pages = await open()
      const page = await pages.put(draft('a'), Buffer.alloc(0), pages.fence())
      expect(await pages.readBody(page!)).toEqual(Buffer.alloc(0))
    })

    test('a page past any use is not found', async () => {
      const time = clock()
      const pages = await open(time)
      await store(pages, 'a', { deleteAt: aMoment + 1_000 })
      expect(pages.find(draft('a').key)).toHaveLength(1)
      time.advance(1_000)
      expect(pages.find(draft('a').key)).toEqual([])
    })

    test('endless times are taken in', async () => {
      const pages = await open()
      const endless = Number.POSITIVE_INFINITY
      const page = await store(pages, 'a', { lifetime: endless, staleAt: endless, deleteAt: endless })
      expect(pages.find(draft('a').key)).toEqual([page])
      expect(page!.staleAt).toBeGreaterThan(aMoment)
    })

    test('names that look like paths, patterns or SQL are names', async () => {
      const pages = await open()
      for (const odd of ['../../etc/passwd', '%', "'; DROP TABLE page; --", 'ü/日本', 'a\0b', 'x'.repeat(4_000)]) {
        const page = await store(pages, odd, { tags: [odd] })
        expect(pages.find(draft(odd).key)).toEqual([page])
        expect(await pages.readBody(page!)).toEqual(bodyOf(odd))
        expect(await pages.remove({ kind: 'tags', tags: [odd] })).toBe(1)
      }
    })
  })

  describe(`${name}: variants`, () => {
    test('the same secondary key and range renew a page, others stand beside it, newest first', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: 'a', lang: 'de' } })
      const english = await store(pages, 'a', { vary: { accept: 'a', lang: 'en' }, cachedAt: aMoment + 1 })
      const part = await store(pages, 'a', { range: { start: 0, end: 1, total: 9 }, cachedAt: aMoment + 2 })
      const german = await store(pages, 'a', { vary: { lang: 'de', accept: 'a' }, cachedAt: aMoment + 3 })
      expect(pages.find(draft('a').key)).toEqual([german, part, english])
      expect(pages.findByUrl(draft('a').url)).toEqual([german, part, english])
      expect(pages.counters().products.count).toBe(3)
    })

    test('an absent header is another variant than an empty one', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: null } })
      await store(pages, 'a', { vary: { accept: '' } })
      expect(pages.find(draft('a').key)).toHaveLength(2)
    })

    test('variants under a key are bounded, the least recently used go', async () => {
      const time = clock()
      const pages = await open({ maxVariants: 3, now: time.now })
      const stored: Page[] = []
      for (const lang of ['a', 'b', 'c']) {
        stored.push((await store(pages, 'x', { vary: { lang } }))!)
        time.advance(10)
      }
      pages.recordHits([{ page: stored[0]!, hits: 1, ms: 1, usedAt: time.now() }])
      time.advance(10)
      await store(pages, 'x', { vary: { lang: 'd' } })
      const left = pages.find(draft('x').key).map((page) => page.vary['lang'])
      expect(left.toSorted()).toEqual(['a', 'c', 'd'])
      expect(pages.counters().products.count).toBe(3)
    })
  })

  describe(`${name}: freshening`, () => {
    test('a 304 renews headers, times and tags, and the body stays', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      pages.recordHits([{ page: page!, hits: 2, ms: 3, usedAt: aMoment }])
      const changes: Partial<PageDraft> = {
        headers: [['etag', '"2"']], tags: ['new'], cachedAt: aMoment + 5, type: 'cms', originalSize: 1, encoding: 'gzip',
      }
      const renewed = await pages.freshen(page!, draft('a', changes), pages.fence())
      expect(renewed).toMatchObject({ ...changes, id: page!.id, originalSize: 1_000, encoding: 'identity', hits: 2 })
      expect(pages.find(page!.key)).toEqual([renewed])
      expect(await pages.readBody(renewed!)).toEqual(bodyOf('a'))
      expect(pages.counters().products.count).toBe(0)
      expect(pages.counters().cms).toMatchObject({ count: 1, hits: 2, hitMs: 3, originalSize: 1_000 })
      expect(await pages.count({ kind: 'tags', tags: ['all-products'] })).toBe(0)
      expect(await pages.remove({ kind: 'tags', tags: ['new'] })).toBe(1)
    })

    test('a page that is gone is not freshened', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      await pages.remove({ kind: 'urls', urls: [page!.url] })
      expect(await pages.freshen(page!, draft('a'), pages.fence())).toBeNull()
    })
  })

  describeRemovals(name, open)
  describeFences(name, open)
  describeNumbers(name, open)
}

function describeRemovals(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: removing`, () => {
    const cases: [string, Selection, string[]][] = [
      ['all', { kind: 'all' }, []],
      ['a type', { kind: 'type', type: 'products' }, ['c']],
      ['tags', { kind: 'tags', tags: ['red', 'blue', 'unknown'] }, ['c', 'd']],
      ['URLs', { kind: 'urls', urls: [`${origin}/a`, `${origin}/a`, `${origin}/nothing`] }, ['b', 'c', 'd']],
      ['no tag', { kind: 'tags', tags: [] }, ['a', 'b', 'c', 'd']],
      ['no URL', { kind: 'urls', urls: [] }, ['a', 'b', 'c', 'd']],
    ]
    test.each(cases)('%s: takes what it selects, counted before and after', async (_, selection, left) => {
      const pages = await open()
      await store(pages, 'a', { tags: ['red', 'blue'] })
      await store(pages, 'b', { tags: ['red'] })
      await store(pages, 'c', { tags: ['green'], type: 'listings' })
      await store(pages, 'd', { tags: [] })
      const told: Selection[] = []
      pages.onRemoved((removed) => told.push(removed))
      expect(await pages.count(selection)).toBe(4 - left.length)
      expect(await pages.remove(selection)).toBe(4 - left.length)
      expect(await pages.count(selection)).toBe(0)
      expect(await pages.remove(selection)).toBe(0)
      const urls = pages.list({ limit: 10, offset: 0 }).items.map((page) => page.url)
      expect(urls.toSorted()).toEqual(left.map((rest) => `${origin}/${rest}`))
      expect(told.every((removed) => removed.kind === selection.kind)).toBe(true)
      for (const rest of left) expect(await pages.readBody(pages.find(draft(rest).key)[0]!)).toEqual(bodyOf(rest))
    })

    test('a removed page can no longer be read and takes no hits', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      await pages.remove({ kind: 'type', type: 'products' })
      pages.recordHits([{ page: page!, hits: 1, ms: 1, usedAt: aMoment }])
      expect(await pages.readBody(page!)).toBeNull()
      expect(pages.damaged()).toBe(0)
      expect(pages.counters().products).toEqual({ count: 0, originalSize: 0, size: 0, generationMs: 0, hits: 0, hitMs: 0 })
    })

    test('a page of a cleared store is not mistaken for one of the new', async () => {
      const pages = await open()
      const before = await store(pages, 'a')
      await pages.remove({ kind: 'all' })
      await pages.put(draft('a'), Buffer.from('other'), pages.fence())
      expect(await pages.readBody(before!)).toBeNull()
      expect(await pages.freshen(before!, draft('a'), pages.fence())).toBeNull()
    })

    test('more pages of one tag than one transaction takes', async () => {
      const pages = await open()
      for (let n = 0; n < 1_203; n += 1) await store(pages, `p${n}`)
      expect(await pages.remove({ kind: 'tags', tags: ['all-products', 'product-p1'] })).toBe(1_203)
      expect(pages.counters().products.count).toBe(0)
    })

    test('a hundred thousand tags and URLs that nobody bears', async () => {
      const pages = await open()
      await store(pages, 'a')
      const many = Array.from({ length: 100_000 }, (_, n) => `nobody-${n}`)
      expect(await pages.remove({ kind: 'tags', tags: [...many, 'all-products'] })).toBe(1)
      expect(await pages.remove({ kind: 'urls', urls: many })).toBe(0)
    })
  })
}

function describeFences(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: a purge fences`, () => {
    const selecting: [string, Selection][] = [
      ['all', { kind: 'all' }],
      ['its type', { kind: 'type', type: 'products' }],
      ['one of its tags', { kind: 'tags', tags: ['other', 'product-a'] }],
      ['its URL', { kind: 'urls', urls: [`${origin}/b`, `${origin}/a`] }],
    ]
    test.each(selecting)('what was being fetched is not stored after a purge of %s', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      expect(pages.holds(fence)).toBe(true)
      await pages.remove(selection)
      expect(pages.holds(fence)).toBe(false)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBeNull()
      expect(pages.find(draft('a').key)).toEqual([])
      expect(await store(pages, 'a')).not.toBeNull()
    })

    test.each(selecting.slice(1))('what was being validated is not renewed after a purge of %s', async (_, selection) => {
      const pages = await open()
      // Stored with nothing that the purge selects; what the validation brings, it does select.
      const page = await pages.put(draft('a', { type: 'cms', tags: [], url: `${origin}/x` }), bodyOf('a'), pages.fence())
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.freshen(page!, draft('a'), fence)).toBeNull()
    })

    const others: [string, Selection][] = [
      ['another type', { kind: 'type', type: 'cms' }],
      ['another tag', { kind: 'tags', tags: ['product-b'] }],
      ['another URL', { kind: 'urls', urls: [`${origin}/b`] }],
    ]
    test.each(others)('a purge of %s does not stand in the way', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).not.toBeNull()
    })

    test('a fence from before an hour of removals holds for nothing once they are forgotten', async () => {
      const time: Clock = clock()
      const pages = await open(time)
      const fence = pages.fence()
      await pages.remove({ kind: 'urls', urls: ['http://elsewhere/'] })
      time.advance(3_700_000)
      await pages.sweep()
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBeNull()
      expect(await store(pages, 'a')).not.toBeNull()
    })
  })
}

function describeNumbers(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: numbers`, () => {
    test('an empty store counts zero of everything', async () => {
      const pages = await open()
      const zero = { count: 0, originalSize: 0, size: 0, generationMs: 0, hits: 0, hitMs: 0 }
      expect(pages.counters()).toEqual(Object.fromEntries(pageTypes.map((type) => [type, zero])))
      expect(pages.list({ limit: 10, offset: 0 })).toEqual({ total: 0, items: [] })
    })

    test('lists by type, tag and URL prefix, in parts', async () => {
      const pages = await open()
      for (const leaf of ['a', 'b', 'c']) await store(pages, `shoes/${leaf}`, { tags: ['shoe'] })
      await store(pages, 'shoes', { tags: ['shoe'], type: 'listings' })
      await store(pages, 'hats/a', { tags: ['hat'] })
      const names = (filter: object) => {
        const { total, items } = pages.list({ limit: 10, offset: 0, ...filter })
        return [total, ...items.map((page) => page.url.slice(origin.length + 1))]
      }
      expect(names({})).toEqual([5, 'hats/a', 'shoes', 'shoes/c', 'shoes/b', 'shoes/a'])
      expect(names({ limit: 2, offset: 1 })).toEqual([5, 'shoes', 'shoes/c'])
      expect(names({ type: 'listings' })).toEqual([1, 'shoes'])
      expect(names({ tag: 'shoe', type: 'products' })).toEqual([3, 'shoes/c', 'shoes/b', 'shoes/a'])
      expect(names({ urlPrefix: `${origin}/shoes/` })).toEqual([3, 'shoes/a', 'shoes/b', 'shoes/c'])
      expect(names({ urlPrefix: `${origin}/shoes/`, tag: 'shoe', offset: 2 })).toEqual([3, 'shoes/c'])
      expect(names({ tag: 'nothing' })).toEqual([0])
    })

    test('over the limit the least recently used go', async () => {
      const time = clock()
      const pages = await open({ maxSize: 10_000, now: time.now })
      for (let n = 0; n < 40; n += 1) {
        await pages.put(draft(`p${n}`), Buffer.alloc(1_000, n), pages.fence())
        time.advance(1_000)
        const first = pages.find(draft('p0').key)
        pages.recordHits(first.map((page) => ({ page, hits: 1, ms: 1, usedAt: time.now() })))
        expect(pages.counters().products.size).toBeLessThanOrEqual(10_000)
      }
      expect(pages.find(draft('p0').key)).toHaveLength(1)
      expect(pages.find(draft('p39').key)).toHaveLength(1)
      expect(pages.find(draft('p1').key)).toHaveLength(0)
    })

    test('a body larger than the limit is not taken', async () => {
      const pages = await open({ maxSize: 100 })
      expect(await pages.put(draft('a'), Buffer.alloc(101), pages.fence())).toBeNull()
    })

    test('a sweep drops what is past any use, and counts it', async () => {
      const time = clock()
      const pages = await open(time)
      for (let n = 0; n < 150; n += 1) await store(pages, `old${n}`, { deleteAt: aMoment + 10 })
      await store(pages, 'young')
      time.advance(10)
      expect(await pages.sweep()).toEqual({ expired: 150, orphans: 0 })
      expect(pages.counters().products.count).toBe(1)
      expect(await pages.sweep()).toEqual({ expired: 0, orphans: 0 })
    })

    test.each([1, 2, 3])('after whatever happened the counters are what a full scan counts (seed %i)', async (seed) => {
      const time = clock()
      const pages = await open({ maxSize: 60_000, maxVariants: 3, now: time.now })
      const random = generator(seed)
      for (let round = 0; round < 20; round += 1) {
        for (let step = 0; step < 20; step += 1) {
          time.advance(random(1_000))
          await doSomething(pages, random, time)
        }
        expect(pages.counters()).toEqual(scan(pages))
      }
    })
  })
}

type Random = (below: number) => number

/** A small seeded generator (mulberry32), so that a failure can be run again. */
function generator(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below
  }
}

async function doSomething(pages: PageStore, random: Random, time: Clock): Promise<void> {
  const whole = (below: number) => Math.floor(random(below))
  const type = pageTypes[whole(5)]!
  const name = `p${whole(60)}`
  const tags = Array.from({ length: whole(4) }, () => `t${whole(12)}`)
  const vary = { lang: `${whole(5)}` }
  const changes = { type, tags, vary, cachedAt: time.now(), deleteAt: time.now() + whole(200_000), originalSize: whole(9_000), generationMs: random(400) }
  const known = pages.findByUrl(draft(name).url)
  const action = whole(100)
  if (action < 60) await pages.put(draft(name, changes), Buffer.alloc(whole(3_000)), pages.fence())
  else if (action < 70) for (const page of known) await pages.freshen(page, draft(name, { ...changes, vary: page.vary }), pages.fence())
  else if (action < 85) pages.recordHits(known.map((page) => ({ page, hits: whole(9) + 1, ms: random(5), usedAt: time.now() })))
  else if (action < 90) await pages.remove({ kind: 'tags', tags: [`t${whole(12)}`, `t${whole(12)}`] })
  else if (action < 94) await pages.remove({ kind: 'urls', urls: [draft(name).url] })
  else if (action < 97) await pages.remove({ kind: 'type', type })
  else if (action < 99) await pages.sweep()
  else await pages.remove({ kind: 'all' })
}

/** What the counters should say. Sums of times are kept in whole microseconds. */
function scan(pages: PageStore): Record<PageType, TypeCounters> {
  const scanned = pages.list({ limit: 100_000, offset: 0 }).items
  const entries = pageTypes.map((type) => {
    const own = scanned.filter((page) => page.type === type)
    const sum = (pick: (page: Page) => number) => own.reduce((total, page) => total + pick(page), 0)
    const sumOfTimes = (pick: (page: Page) => number) => sum((page) => Math.round(pick(page) * 1_000)) / 1_000
    const counters: TypeCounters = {
      count: own.length,
      originalSize: sum((page) => page.originalSize),
      size: sum((page) => page.size),
      generationMs: sumOfTimes((page) => page.generationMs),
      hits: sum((page) => page.hits),
      hitMs: sumOfTimes((page) => page.hitMs),
    }
    return [type, counters]
  })
  return Object.fromEntries(entries) as Record<PageType, TypeCounters>
}
