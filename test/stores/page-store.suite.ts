import { describe, expect, it } from 'vitest'
import type { Page, PageDraft } from '../../src/pages/page.ts'
import type { PageStore, Selection } from '../../src/pages/page-store.ts'
import { pieceSize } from '../../src/pages/piece-digests.ts'
import { aMoment, bodyOf, clock, draft, origin, store, type Clock } from './pages.ts'
import { describeNumbers, type SuiteOptions } from './page-numbers.suite.ts'

/** What every implementation of `PageStore` keeps. `open` closes what it opened when the test is over. */
export function describePageStore(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: taking in and finding`, () => {
    it('a page comes back as it was stored', async () => {
      const pages = await open()
      const given = draft('a', {
        headers: [
          ['set', 'x'],
          ['set', 'y'],
          ['link', '</é>; rel=preload'],
        ],
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

    it('an empty body is a body', async () => {
      const pages = await open()
      const page = await pages.put(draft('a'), Buffer.alloc(0), pages.fence())
      expect(await pages.readBody(page!)).toEqual(Buffer.alloc(0))
    })

    it.each([0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize])(
      'a body of %i bytes comes back whole and in pieces, the pieces also when its page has gone',
      async (size) => {
        const pages = await open()
        const body = Buffer.from(Uint8Array.from({ length: size }, (_, index) => index % 251))
        const page = (await pages.put(draft('a'), body, pages.fence()))!
        expect((await pages.readBody(page))!.equals(body)).toBe(true)
        const opened = (await pages.openBody(page))!
        await pages.remove({ kind: 'all' })
        const pieces: Buffer[] = []
        for (let piece = 0; piece * pieceSize < opened.size; piece++)
          pieces.push(await opened.read(piece, Buffer.alloc(pieceSize)))
        await opened.close()
        expect(Buffer.concat(pieces).equals(body)).toBe(true)
        expect(await pages.openBody(page)).toBeNull()
      },
    )

    it('a page past any use is not found', async () => {
      const time = clock()
      const pages = await open(time)
      await store(pages, 'a', { deleteAt: aMoment + 1_000 })
      expect(pages.find(draft('a').key)).toHaveLength(1)
      time.advance(1_000)
      expect(pages.find(draft('a').key)).toEqual([])
    })

    it('endless times are taken in', async () => {
      const pages = await open()
      const endless = Number.POSITIVE_INFINITY
      const page = await store(pages, 'a', { lifetime: endless, staleAt: endless, deleteAt: endless })
      expect(pages.find(draft('a').key)).toEqual([page])
      expect(page!.staleAt).toBeGreaterThan(aMoment)
    })

    it('names that look like paths, patterns or SQL are names', async () => {
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
    it('the same secondary key and range renew a page, others stand beside it, newest first', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: 'a', lang: 'de' } })
      const english = await store(pages, 'a', { vary: { accept: 'a', lang: 'en' }, cachedAt: aMoment + 1 })
      const part = await store(pages, 'a', { range: { start: 0, end: 1, total: 9 }, cachedAt: aMoment + 2 })
      const german = await store(pages, 'a', { vary: { lang: 'de', accept: 'a' }, cachedAt: aMoment + 3 })
      expect(pages.find(draft('a').key)).toEqual([german, part, english])
      expect(pages.findByUrl(draft('a').url)).toEqual([german, part, english])
      expect(pages.counters().products.count).toBe(3)
    })

    it('an absent header is another variant than an empty one', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: null } })
      await store(pages, 'a', { vary: { accept: '' } })
      expect(pages.find(draft('a').key)).toHaveLength(2)
    })

    it('variants of a URL are bounded whatever cookies make their keys', async () => {
      const pages = await open({ maxVariants: 3 })
      for (let visitor = 0; visitor < 9; visitor++)
        await store(pages, 'a', { key: `${draft('a').key}\ncookie hash=${visitor}` })
      expect(pages.findByUrl(draft('a').url)).toHaveLength(3)
      expect(pages.counters().products.count).toBe(3)
    })

    it('variants under a key are bounded, the least recently used go', async () => {
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
    it('a 304 renews headers, times and tags, and the body stays', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      pages.recordHits([{ page: page!, hits: 2, ms: 3, usedAt: aMoment }])
      const changes: Partial<PageDraft> = {
        headers: [['etag', '"2"']],
        tags: ['new'],
        cachedAt: aMoment + 5,
        type: 'cms',
        originalSize: 1,
        encoding: 'gzip',
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

    it('a page that is gone is not freshened', async () => {
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
    it.each(cases)('%s: takes what it selects, counted before and after', async (_, selection, left) => {
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

    it('a removed page can no longer be read and takes no hits', async () => {
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

    it('a page of a cleared store is not mistaken for one of the new', async () => {
      const pages = await open()
      const before = await store(pages, 'a')
      await pages.remove({ kind: 'all' })
      await pages.put(draft('a'), Buffer.from('other'), pages.fence())
      expect(await pages.readBody(before!)).toBeNull()
      expect(await pages.freshen(before!, draft('a'), pages.fence())).toBeNull()
    })

    it('more pages of one tag than one transaction takes', async () => {
      const pages = await open()
      for (let n = 0; n < 1_203; n += 1) await store(pages, `p${n}`)
      expect(await pages.remove({ kind: 'tags', tags: ['all-products', 'product-p1'] })).toBe(1_203)
      expect(pages.counters().products.count).toBe(0)
    })

    it('a hundred thousand tags and URLs that nobody bears', async () => {
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
    it.each(selecting)('what was being fetched is not stored after a purge of %s', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      expect(pages.holds(fence)).toBe(true)
      await pages.remove(selection)
      expect(pages.holds(fence)).toBe(false)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).toBeNull()
      expect(pages.find(draft('a').key)).toEqual([])
      expect(await store(pages, 'a')).not.toBeNull()
    })

    it.each(selecting.slice(1))('what was being validated is not renewed after a purge of %s', async (_, selection) => {
      const pages = await open()
      // Stored with nothing that the purge selects; what the validation brings, it does select.
      const page = await pages.put(
        draft('a', { type: 'cms', tags: [], url: `${origin}/x` }),
        bodyOf('a'),
        pages.fence(),
      )
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.freshen(page!, draft('a'), fence)).toBeNull()
    })

    const others: [string, Selection][] = [
      ['another type', { kind: 'type', type: 'cms' }],
      ['another tag', { kind: 'tags', tags: ['product-b'] }],
      ['another URL', { kind: 'urls', urls: [`${origin}/b`] }],
    ]
    it.each(others)('a purge of %s does not stand in the way', async (_, selection) => {
      const pages = await open()
      const fence = pages.fence()
      await pages.remove(selection)
      expect(await pages.put(draft('a'), bodyOf('a'), fence)).not.toBeNull()
    })

    it('a fence from before an hour of removals holds for nothing once they are forgotten', async () => {
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
