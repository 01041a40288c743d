import { describe, expect, it } from 'vitest'
import { pageTypes, type Page, type PageType } from '../../src/pages/page.ts'
import type { PageStore, TypeCounters } from '../../src/pages/page-store.ts'
import { until } from '../helpers/until.ts'
import { aMoment, clock, draft, origin, store, type Clock } from './pages.ts'

export interface SuiteOptions {
  maxSize?: number | null
  maxVariants?: number
  now?: () => number
}

/** Counting, listing, size limits and sweeping. */
export function describeNumbers(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: numbers`, () => {
    it('an empty store counts zero of everything', async () => {
      const pages = await open()
      const zero = { count: 0, originalSize: 0, size: 0, generationMs: 0, hits: 0, hitMs: 0 }
      expect(pages.counters()).toEqual(Object.fromEntries(pageTypes.map((type) => [type, zero])))
      expect(pages.list({ limit: 10, offset: 0 })).toEqual({ total: 0, items: [] })
    })

    it('lists by type, tag and URL prefix, with pagination', async () => {
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
      expect(names({ sort: 'url', limit: 2 })).toEqual([5, 'hats/a', 'shoes'])
      expect(names({ sort: '-url', limit: 1 })).toEqual([5, 'shoes/c'])
      expect(names({ sort: 'stored', limit: 1 })).toEqual([5, 'shoes/a'])
      expect(names({ sort: '-stored', tag: 'shoe', limit: 1 })).toEqual([4, 'shoes'])
    })

    it('lists the URLs with a tag page by page, and sums the hits of a URL over its variants', async () => {
      const pages = await open()
      for (const name of ['a', 'b', 'c']) await store(pages, name, { tags: ['x', name] })
      const other = await store(pages, 'a', { tags: ['y'], vary: { lang: 'de' } })
      await pages.remove({ kind: 'tags', tags: ['b'] })
      const [first, ...none] = pages.tagged('x', 0, 1)
      expect([first?.url, none]).toEqual([`${origin}/a`, []])
      expect(pages.tagged('x', first!.id, 10).map(({ url }) => url)).toEqual([`${origin}/c`])
      expect(pages.tagged('unknown', 0, 10)).toEqual([])
      const [page] = pages.find(draft('a').key).filter(({ id }) => id !== other!.id)
      pages.recordHits([
        { page: page!, hits: 2, ms: 1, usedAt: aMoment },
        { page: other!, hits: 3, ms: 1, usedAt: aMoment },
      ])
      await until(() => pages.hitsOf([`${origin}/a`])[0] === 5)
      expect(pages.hitsOf([`${origin}/b`, `${origin}/c`, `${origin}/a`, `${origin}/unknown`])).toEqual([0, 0, 5, 0])
    })

    it('evicts the least recently used pages above the limit', async () => {
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
      expect(pages.evictionOf(draft('p1').url)).toMatchObject({ cause: 'size' })
      expect(pages.evictionOf(draft('p39').url)).toBeNull()
    })

    it('keeps pages with hits while a crawler stores new ones', async () => {
      const time = clock()
      const pages = await open({ maxSize: 10_000, now: time.now })
      const popular = ['p0', 'p1', 'p2', 'p3']
      const put = async (name: string) => {
        await pages.put(draft(name), Buffer.alloc(1_000), pages.fence())
        time.advance(1_000)
      }
      for (const name of popular) await put(name)
      const visited = popular.flatMap((name) => pages.find(draft(name).key))
      pages.recordHits(visited.map((page) => ({ page, hits: 1, ms: 1, usedAt: time.now() })))
      for (let n = 0; n < 30; n += 1) await put(`crawled${n}`)
      expect(popular.filter((name) => pages.find(draft(name).key).length === 1)).toEqual(popular)
      expect(pages.find(draft('crawled29').key)).toHaveLength(1)
      // Without further visits they go too.
      for (let n = 30; n < 100; n += 1) await put(`crawled${n}`)
      expect(popular.filter((name) => pages.find(draft(name).key).length === 1)).toEqual([])
      expect(pages.find(draft('crawled99').key)).toHaveLength(1)
    })

    it('a body larger than the limit is not stored', async () => {
      const pages = await open({ maxSize: 100 })
      expect(await pages.put(draft('a'), Buffer.alloc(101), pages.fence())).toBe('unavailable')
    })

    it('a sweep removes and counts expired pages', async () => {
      const time = clock()
      const pages = await open(time)
      await Promise.all(Array.from({ length: 150 }, (_, n) => store(pages, `old${n}`, { deleteAt: aMoment + 10 })))
      await store(pages, 'young')
      time.advance(10)
      expect(await pages.sweep()).toEqual({ expired: 150, orphans: 0 })
      expect(pages.counters().products.count).toBe(1)
      expect(pages.evictionOf(draft('old0').url)).toMatchObject({ cause: 'expired' })
      expect(await pages.sweep()).toEqual({ expired: 0, orphans: 0 })
    })

    it.each([1, 2])('after random operations the counters equal a full scan (seed %i)', async (seed) => {
      const time = clock()
      const pages = await open({ maxSize: 60_000, maxVariants: 3, now: time.now })
      const random = generator(seed)
      for (let round = 0; round < 20; round += 1) {
        for (let step = 0; step < 20; step += 1) {
          time.advance(random(1_000))
          await doSomething(pages, random, time)
        }
        // A writer thread may change pages between the two readings.
        await until(() => expect(pages.counters()).toEqual(scan(pages)))
      }
    })
  })
}

type Random = (below: number) => number

/** A small seeded generator (mulberry32), so that a failure can be reproduced. */
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
  const changes = {
    type,
    tags,
    vary,
    // Sometimes of an earlier week: hits decay at the next fetch.
    cachedAt: time.now() - whole(2) * 7 * 24 * 60 * 60_000,
    deleteAt: time.now() + whole(200_000),
    originalSize: whole(9_000),
    generationMs: random(400),
  }
  const known = pages.findByUrl(draft(name).url)
  const action = whole(100)
  if (action < 60) await pages.put(draft(name, changes), Buffer.alloc(whole(3_000)), pages.fence())
  else if (action < 70)
    for (const page of known) await pages.freshen(page, draft(name, { ...changes, vary: page.vary }), pages.fence())
  else if (action < 85)
    pages.recordHits(known.map((page) => ({ page, hits: whole(9) + 1, ms: random(5), usedAt: time.now() })))
  else if (action < 90) await pages.remove({ kind: 'tags', tags: [`t${whole(12)}`, `t${whole(12)}`] })
  else if (action < 94) await pages.remove({ kind: 'urls', urls: [draft(name).url] })
  else if (action < 97) await pages.remove({ kind: 'type', type })
  else if (action < 99) await pages.sweep()
  else await pages.remove({ kind: 'all' })
}

/** The expected counters. Sums of times are kept in whole microseconds. */
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
