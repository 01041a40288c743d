import { describe, expect, it } from 'vitest'
import type { Page, PageDraft } from '../../src/pages/page.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { pieceSize } from '../../src/pages/piece-digests.ts'
import { until } from '../helpers/until.ts'
import { accepted, aMoment, bodyOf, clock, draft, store } from './pages.ts'
import { describeNumbers, type SuiteOptions } from './page-numbers.suite.ts'
import { describeFences, describeRemovals } from './removals.suite.ts'

/** The contract of every implementation of `PageStore`. `open` closes the store at the end of the test. */
export function describePageStore(name: string, open: (options?: SuiteOptions) => Promise<PageStore>): void {
  describe(`${name}: storing and finding`, () => {
    it('returns a page as it was stored', async () => {
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
      const stored = accepted(await pages.put(given, bodyOf('a'), pages.fence()))
      expect(pages.find(given.key)).toEqual([stored])
      expect(stored).toMatchObject({ ...given, size: bodyOf('a').length, hits: 0, hitMs: 0 })
      expect(await pages.readBody(stored!)).toEqual(bodyOf('a'))
    })

    it('stores an empty body', async () => {
      const pages = await open()
      const page = accepted(await pages.put(draft('a'), Buffer.alloc(0), pages.fence()))
      expect(await pages.readBody(page!)).toEqual(Buffer.alloc(0))
    })

    it.each([0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize])(
      'a body of %i bytes is readable whole and in pieces, and in pieces even after its removal',
      async (size) => {
        const pages = await open()
        const body = Buffer.from(Uint8Array.from({ length: size }, (_, index) => index % 251))
        const page = accepted(await pages.put(draft('a'), body, pages.fence()))
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

    it('an expired page is not found', async () => {
      const time = clock()
      const pages = await open(time)
      await store(pages, 'a', { deleteAt: aMoment + 1_000 })
      expect(pages.find(draft('a').key)).toHaveLength(1)
      time.advance(1_000)
      expect(pages.find(draft('a').key)).toEqual([])
    })

    it('stores infinite times', async () => {
      const pages = await open()
      const endless = Number.POSITIVE_INFINITY
      const page = await store(pages, 'a', { lifetime: endless, staleAt: endless, deleteAt: endless })
      expect(pages.find(draft('a').key)).toEqual([page])
      expect(page!.staleAt).toBeGreaterThan(aMoment)
    })

    it('stores names that look like paths, patterns or SQL', async () => {
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
    it('replaces a page with equal secondary key and range, and lists the others newest first', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: 'a', lang: 'de' } })
      const english = await store(pages, 'a', { vary: { accept: 'a', lang: 'en' }, cachedAt: aMoment + 1 })
      const part = await store(pages, 'a', { range: { start: 0, end: 1, total: 9 }, cachedAt: aMoment + 2 })
      const german = await store(pages, 'a', { vary: { lang: 'de', accept: 'a' }, cachedAt: aMoment + 3 })
      expect(pages.find(draft('a').key)).toEqual([german, part, english])
      expect(pages.findByUrl(draft('a').url)).toEqual([german, part, english])
      expect(pages.counters().products.count).toBe(3)
    })

    it('an absent header and an empty one are different variants', async () => {
      const pages = await open()
      await store(pages, 'a', { vary: { accept: null } })
      await store(pages, 'a', { vary: { accept: '' } })
      expect(pages.find(draft('a').key)).toHaveLength(2)
    })

    it('lists the tags of its pages by their beginning', async () => {
      const pages = await open()
      await store(pages, 'a', { tags: ['product-1', 'product-2', 'menu'] })
      await store(pages, 'b', { tags: ['product-3'] })
      await pages.remove({ kind: 'tags', tags: ['product-3'] })
      expect(pages.tags('product-', 10)).toEqual(['product-1', 'product-2'])
      expect(pages.tags('', 1)).toEqual(['menu'])
      expect(pages.tags('x', 10)).toEqual([])
    })

    it('limits the variants of a URL across keys', async () => {
      const pages = await open({ maxVariants: 3 })
      for (let visitor = 0; visitor < 9; visitor++)
        await store(pages, 'a', { key: `${draft('a').key}\ncookie hash=${visitor}` })
      expect(pages.findByUrl(draft('a').url)).toHaveLength(3)
      expect(pages.evictionOf(draft('a').url)).toMatchObject({ cause: 'variants' })
      expect(pages.counters().products.count).toBe(3)
    })

    it('limits the variants of a key, evicting the least recently used', async () => {
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

  describe(`${name}: renewing`, () => {
    it('a page that replaces another continues to count its hits, for its variant alone', async () => {
      const pages = await open()
      const german = await store(pages, 'a', { vary: { lang: 'de' } })
      await store(pages, 'a', { vary: { lang: 'en' } })
      pages.recordHits([{ page: german!, hits: 3, ms: 6, usedAt: aMoment }])
      await until(() => pages.hitsOf([german!.url])[0] === 3)
      await pages.remove({ kind: 'urls', urls: [german!.url] }, { soft: true })
      const renewed = await store(pages, 'a', { vary: { lang: 'de' }, type: 'cms' })
      expect(pages.find(draft('a').key).find(({ id }) => id === renewed!.id)).toMatchObject({ hits: 3, hitMs: 6 })
      expect(pages.hitsOf([german!.url])).toEqual([3])
      expect(pages.counters()).toMatchObject({ products: { count: 1, hits: 0 }, cms: { count: 1, hits: 3, hitMs: 6 } })
      // These were counted in memory before the page was replaced.
      pages.recordHits([{ page: german!, hits: 1, ms: 1, usedAt: aMoment }])
      pages.recordHits([{ page: renewed!, hits: 1, ms: 1, usedAt: aMoment }])
      await until(() => pages.hitsOf([german!.url])[0] === 4)
      expect(pages.counters()).toMatchObject({ products: { hits: 0 }, cms: { hits: 4 } })
      await pages.remove({ kind: 'all' })
      expect((await store(pages, 'a', { vary: { lang: 'de' } }))!.hits).toBe(0)
    })

    it('halves the hits for each week between two fetches, of a new body and of a 304', async () => {
      const pages = await open()
      const week = 7 * 24 * 60 * 60_000
      const weekly = (weeks: number) => ({ cachedAt: aMoment + weeks * week, deleteAt: aMoment + 10 * week })
      const page = await store(pages, 'a', weekly(0))
      const hits = (hits: number) => until(() => expect(pages.counters().products).toMatchObject({ count: 1, hits }))
      pages.recordHits([{ page: page!, hits: 40, ms: 80, usedAt: aMoment }])
      await hits(40)
      const renewed = await store(pages, 'a', weekly(2))
      await hits(10)
      expect(pages.find(draft('a').key)).toMatchObject([{ hits: 10, hitMs: 20 }])
      await pages.freshen(renewed!, draft('a', weekly(3)), pages.fence())
      await hits(5)
      expect(pages.hitsOf([page!.url])).toEqual([5])
      expect(pages.counters().products).toMatchObject({ hitMs: 10 })
      // A clock that was put back decays nothing.
      await store(pages, 'a', weekly(1))
      await store(pages, 'a', weekly(2))
      await hits(2)
      // Less than half a hit.
      await store(pages, 'a', weekly(4))
      await hits(0)
      expect(pages.counters().products).toMatchObject({ hitMs: 0 })
    })
  })

  describe(`${name}: freshening`, () => {
    it('a 304 updates headers, times and tags and keeps the body', async () => {
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
      const renewed = accepted(await pages.freshen(page!, draft('a', changes), pages.fence()))
      expect(renewed).toMatchObject({ ...changes, id: page!.id, originalSize: 1_000, encoding: 'identity', hits: 2 })
      expect(pages.find(page!.key)).toEqual([renewed])
      expect(await pages.readBody(renewed!)).toEqual(bodyOf('a'))
      expect(pages.counters().products.count).toBe(0)
      expect(pages.counters().cms).toMatchObject({ count: 1, hits: 2, hitMs: 3, originalSize: 1_000 })
      expect(await pages.count({ kind: 'tags', tags: ['all-products'] })).toBe(0)
      expect(await pages.remove({ kind: 'tags', tags: ['new'] })).toBe(1)
    })

    it('a removed page is not freshened', async () => {
      const pages = await open()
      const page = await store(pages, 'a')
      await pages.remove({ kind: 'urls', urls: [page!.url] })
      expect(await pages.freshen(page!, draft('a'), pages.fence())).toBe('removed')
    })
  })

  describeRemovals(name, open)
  describeFences(name, open)
  describeNumbers(name, open)
}
