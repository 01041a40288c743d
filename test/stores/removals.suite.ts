import { describe, expect, it } from 'vitest'
import type { PageStore, Selection } from '../../src/pages/page-store.ts'
import { accepted, aMoment, bodyOf, clock, draft, origin, store, type Clock } from './pages.ts'
import { type SuiteOptions } from './page-numbers.suite.ts'

/** The part of the contract of `PageStore` about removals. */
export function describeRemovals(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: removing`, () => {
    const cases: [string, Selection, string[]][] = [
      ['all', { kind: 'all' }, []],
      ['a type', { kind: 'type', type: 'products' }, ['c']],
      ['tags', { kind: 'tags', tags: ['red', 'blue', 'unknown'] }, ['c', 'd']],
      ['URLs', { kind: 'urls', urls: [`${origin}/a`, `${origin}/a`, `${origin}/nothing`] }, ['b', 'c', 'd']],
      ['no tag', { kind: 'tags', tags: [] }, ['a', 'b', 'c', 'd']],
      ['no URL', { kind: 'urls', urls: [] }, ['a', 'b', 'c', 'd']],
    ]
    it.each(cases)('%s: removes the selected pages, counted before and after', async (_, selection, left) => {
      const pages = await open()
      await store(pages, 'a', { tags: ['red', 'blue'] })
      await store(pages, 'b', { tags: ['red'] })
      await store(pages, 'c', { tags: ['green'], type: 'listings' })
      await store(pages, 'd', { tags: [] })
      const removals: Selection[] = []
      pages.onRemoved((removed) => removals.push(removed))
      expect(await pages.count(selection)).toBe(4 - left.length)
      expect(await pages.remove(selection)).toBe(4 - left.length)
      expect(await pages.count(selection)).toBe(0)
      expect(await pages.remove(selection)).toBe(0)
      const urls = pages.list({ limit: 10, offset: 0 }).items.map((page) => page.url)
      expect(urls.toSorted()).toEqual(left.map((rest) => `${origin}/${rest}`))
      expect(removals.every((removed) => removed.kind === selection.kind)).toBe(true)
      for (const rest of left) expect(await pages.readBody(pages.find(draft(rest).key)[0]!)).toEqual(bodyOf(rest))
    })

    it('a removed page is unreadable and counts no hits', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      await pages.remove({ kind: 'type', type: 'products' })
      pages.recordHits([{ page: page!, hits: 1, ms: 1, usedAt: aMoment }])
      expect(await pages.readBody(page!)).toBeNull()
      expect(pages.damaged()).toBe(0)
      expect(pages.counters().products).toEqual({
        count: 0,
        originalSize: 0,
        size: 0,
        generationMs: 0,
        hits: 0,
        hitMs: 0,
      })
    })

    it('a page of a cleared store is not confused with a new one', async () => {
      const pages = await open()
      const before = await store(pages, 'a')
      await pages.remove({ kind: 'all' })
      await pages.put(draft('a'), Buffer.from('other'), pages.fence())
      expect(await pages.readBody(before!)).toBeNull()
      expect(await pages.freshen(before!, draft('a'), pages.fence())).toBe('removed')
    })

    it('removes more pages of one tag than fit one transaction', async () => {
      const pages = await open()
      await Promise.all(Array.from({ length: 1_203 }, (_, n) => store(pages, `p${n}`)))
      expect(await pages.remove({ kind: 'tags', tags: ['all-products', 'product-p1'] })).toBe(1_203)
      expect(pages.counters().products.count).toBe(0)
    })

    it('removes by a hundred thousand tags and URLs that no page has', async () => {
      const pages = await open()
      await store(pages, 'a')
      const many = Array.from({ length: 100_000 }, (_, n) => `unknown-${n}`)
      expect(await pages.remove({ kind: 'tags', tags: [...many, 'all-products'] })).toBe(1)
      expect(await pages.remove({ kind: 'urls', urls: many })).toBe(0)
    })
  })
}

/** The part of the contract of `PageStore` about pages that are purged while they are fetched. */
export function describeFences(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: a purge fences`, () => {
    const selecting: [string, Selection][] = [
      ['all', { kind: 'all' }],
      ['its type', { kind: 'type', type: 'products' }],
      ['one of its tags', { kind: 'tags', tags: ['other', 'product-a'] }],
      ['its URL', { kind: 'urls', urls: [`${origin}/b`, `${origin}/a`] }],
    ]
    it.each(selecting)('a fetched page is not stored after a purge of %s', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      expect(pages.holds(fence)).toBe(true)
      await pages.remove(selection)
      expect(pages.holds(fence)).toBe(false)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
      expect(pages.find(draft('a').key)).toEqual([])
      expect(await store(pages, 'a')).not.toBeNull()
    })

    it.each(selecting.slice(1))('a validated page is not freshened after a purge of %s', async (_, selection) => {
      const pages = await open()
      // The purge selects not the stored page but the one after validation.
      const page = accepted(
        await pages.put(draft('a', { type: 'cms', tags: [], url: `${origin}/x` }), bodyOf('a'), pages.fence()),
      )
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.freshen(page, draft('a'), fence)).toBe('invalidated')
    })

    const others: [string, Selection][] = [
      ['another type', { kind: 'type', type: 'cms' }],
      ['another tag', { kind: 'tags', tags: ['product-b'] }],
      ['another URL', { kind: 'urls', urls: [`${origin}/b`] }],
    ]
    it.each(others)('a purge of %s does not prevent storing', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toHaveProperty('id')
    })

    it('a page whose fetch began without a store is not rejected because of a purge', async () => {
      const pages = await open()
      await pages.remove({ kind: 'all' })
      expect(await pages.put(draft('a'), bodyOf('a'), { generation: '', sequence: 0 })).toBe('unavailable')
    })

    it('a fence older than the pruned removals no longer holds', async () => {
      const time: Clock = clock()
      const pages = await open(time)
      const fence = pages.fence()
      await pages.remove({ kind: 'urls', urls: ['http://elsewhere/'] })
      time.advance(3_700_000)
      await pages.sweep()
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBe('invalidated')
      expect(await store(pages, 'a')).not.toBeNull()
    })
  })
}
