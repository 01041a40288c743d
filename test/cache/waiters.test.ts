import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import { VisitorLeft } from '../../src/cache/visit.ts'
import { until } from '../helpers/until.ts'
import { include, lasting, openEsiShop, template } from './esi/shop.ts'
import { shopUrl, type Site } from './site.ts'
import { crowd, openSlow, page } from './slow-site.ts'

const narrow = { maxConcurrent: 1, queue: 2, queueTimeout: 60_000 }

/** A visitor who leaves when the test says so. */
function visitor(site: Site, path: string, method = 'GET') {
  const leaving = new AbortController()
  const answer = site.visit(path, { method, signal: leaving.signal })
  return {
    answer,
    /** Leaves, and gets no answer. */
    leave: () => {
      leaving.abort(new VisitorLeft())
      return expect(answer).rejects.toBeInstanceOf(VisitorLeft)
    },
    /** Leaves while others wait for the answer. */
    abandon: () => leaving.abort(new VisitorLeft()),
  }
}

/** A site whose shop has as many requests as it may get. */
async function openBusy() {
  const slow = await openSlow({ limits: narrow })
  const { site, arrived, release } = slow
  const first = site.visit('/account/first')
  await arrived(1)
  const counts = () => site.cache.origin.counts
  return {
    ...slow,
    counts,
    queued: (count: number) => until(() => expect(counts().waiting).toBe(count)),
    asked: (path: string) => site.origin.requests.filter(({ target }) => target === path).length,
    /** Answers what the shop has, and then what it gets, until it has `total` requests in all. */
    serve: async (total: number) => {
      release()
      await first
      for (let count = 2; count <= total; count += 1) {
        await arrived(count)
        release()
      }
    },
  }
}

describe('a fetch that waits for its place', () => {
  it('is given up when its only visitor leaves', async () => {
    const { site, queued, counts, asked, serve } = await openBusy()
    const left = visitor(site, '/a')
    await queued(1)
    await left.leave()
    expect(counts()).toEqual({ active: 1, waiting: 0, rejected: 0 })
    await serve(1)
    expect(asked('/a')).toBe(0)
    expect(counts()).toEqual({ active: 0, waiting: 0, rejected: 0 })
  })

  it('makes room for those who have not left', async () => {
    const { site, queued, serve } = await openBusy()
    const left = [visitor(site, '/a'), visitor(site, '/b')]
    await queued(2)
    expect((await site.visit('/account/late')).status).toBe(503)
    await Promise.all(left.map((each) => each.leave()))
    const late = site.visit('/account/late')
    await serve(2)
    expect((await late).status).toBe(200)
  })

  it('continues until the last of its visitors has left', async () => {
    const { site, queued, counts, asked, serve } = await openBusy()
    const first = visitor(site, '/a')
    await queued(1)
    const [last, ...others] = Array.from({ length: 5 }, () => visitor(site, '/a'))
    for (const each of [first, ...others]) each.abandon()
    await turn()
    expect(counts().waiting).toBe(1)
    await serve(2)
    expect((await last!.answer).text).toBe('the page')
    expect(asked('/a')).toBe(1)
    expect((await site.visit('/a')).hot).toBe(true)
  })

  it('ends for all who left, and none of them begins another one', async () => {
    const { site, queued, counts, asked, serve } = await openBusy()
    const first = visitor(site, '/a')
    await queued(1)
    const others = Array.from({ length: 5 }, () => visitor(site, '/a'))
    await Promise.all([first, ...others].map((each) => each.leave()))
    expect(counts().waiting).toBe(0)
    await serve(1)
    expect(asked('/a')).toBe(0)
  })

  it('gives the page to visitors who come in the turn in which its last one leaves', async () => {
    const { site, queued, counts, asked, serve } = await openBusy()
    const left = visitor(site, '/a')
    await queued(1)
    const gone = left.leave()
    const late = crowd(5, () => site.visit('/a'))
    await gone
    await queued(1)
    await serve(2)
    expect((await Promise.all(late)).map(({ text }) => text)).toEqual(Array(5).fill('the page'))
    expect([asked('/a'), counts().rejected]).toEqual([1, 0])
  })

  it('is given up if it validates a page for a HEAD', async () => {
    const { site, arrived, release } = await openSlow({ limits: narrow })
    const stored = site.visit('/a')
    await arrived(1)
    release({ ...page, fields: { ...page.fields, ETag: '"a"' } })
    await stored
    site.wait(70)
    const busy = site.visit('/account/first')
    await arrived(2)
    const left = visitor(site, '/a', 'HEAD')
    await until(() => expect(site.cache.origin.counts.waiting).toBe(1))
    await left.leave()
    expect(site.cache.origin.counts.waiting).toBe(0)
    release()
    await busy
    expect(site.origin.requests).toHaveLength(2)
  })

  it('keeps its place if it renews a page in the background', async () => {
    const { site, arrived, release } = await openSlow({ limits: narrow })
    const fields = { 'Cache-Control': 'max-age=10, stale-while-revalidate=60' }
    const stored = site.visit('/a')
    await arrived(1)
    release({ fields, body: 'old' })
    await stored
    site.wait(20)
    const busy = site.visit('/account/first')
    await arrived(2)
    const leaving = new AbortController()
    expect((await site.visit('/a', { signal: leaving.signal, long: true })).text).toBe('old')
    await until(() => expect(site.cache.origin.counts.waiting).toBe(1))
    leaving.abort(new VisitorLeft())
    await turn()
    expect(site.cache.origin.counts.waiting).toBe(1)
    release()
    await busy
    await arrived(3)
    release({ fields, body: 'new' })
    await until(async () => expect((await site.visit('/a')).text).toBe('new'))
  })

  it('leaves the page to a warmup that has joined it', async () => {
    const { site, queued, counts, asked, serve } = await openBusy()
    const left = visitor(site, '/a')
    await queued(1)
    const classified = classifyUrl(`${shopUrl}/a`, {}, new AbortController().signal, site.cache.classifying)
    if (classified?.kind !== 'lookup') throw new Error('not a page')
    const warmed = site.cache.warm(classified.lookup, new AbortController().signal)
    await left.leave()
    await queued(1)
    await serve(2)
    expect((await warmed)?.status).toBe(200)
    expect([asked('/a'), counts().rejected]).toEqual([1, 0])
  })
})

it('a fetch that was sent continues without visitors, and those who come later join it', async () => {
  const { site, arrived, release } = await openSlow()
  const first = visitor(site, '/a')
  await arrived(1)
  first.abandon()
  await turn()
  const later = site.visit('/a')
  release()
  expect((await later).text).toBe('the page')
  expect(site.origin.requests).toHaveLength(1)
})

it('a visitor who has left before begins no fetch', async () => {
  const { site } = await openSlow()
  await expect(site.visit('/a', { signal: AbortSignal.abort(new VisitorLeft()) })).rejects.toBeInstanceOf(VisitorLeft)
  expect(site.origin.requests).toHaveLength(0)
})

it('fragments that wait for their places are given up with the visitor of their page', async () => {
  const shop = await openEsiShop({ limits: { ...narrow, queue: 5 } })
  onTestFinished(() => shop.close())
  const counts = () => shop.cache.origin.counts
  shop.page('/', template(['/_esi/a', '/_esi/b', '/_esi/b', '/_esi/c'].map((src) => include(src)).join()))
  let release = () => {}
  shop.page('/_esi/a', async () => {
    await new Promise<void>((resolve) => (release = resolve))
    return lasting('a')
  })
  const left = visitor(shop, '/')
  await until(() => expect(shop.asked('/_esi/a')).toBe(1))
  await until(() => expect(counts().waiting).toBe(2))
  await left.leave()
  expect(counts()).toEqual({ active: 1, waiting: 0, rejected: 0 })
  release()
  await until(() => expect(counts().active).toBe(0))
  expect([shop.asked('/_esi/b'), shop.asked('/_esi/c'), shop.faults]).toEqual([0, 0, []])
})
