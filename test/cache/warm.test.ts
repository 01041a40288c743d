import { describe, expect, it, onTestFinished } from 'vitest'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { evaluateAttempt, noAttempts } from '../../src/warmup/run/attempt.ts'
import { toFetchPage } from '../../src/warmup/run/fetch-page.ts'
import type { Reply } from './scripted-origin.ts'
import { openSite, shopUrl } from './site.ts'
import { fetchOptions } from '../helpers/fetch-options.ts'
import { until } from '../helpers/until.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60' }

async function open(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  const fetchPage = toFetchPage(site.cache, site.now, 5000)
  return {
    site,
    fetchPage,
    warm: (target: string, headers: Record<string, string> = {}, force = false) =>
      fetchPage(shopUrl + target, { ...fetchOptions, headers, force }),
  }
}

describe('a warmed page and a visited page share code and key', () => {
  it.each<[string, string, Record<string, string>, string, Record<string, string>]>([
    ['a plain URL', '/a', {}, '/a', { 'User-Agent': 'Mozilla/5.0', 'Accept-Encoding': 'br', Cookie: 'session=1' }],
    ['parameters in another order', '/a?b=1&a=2', {}, '/a?a=2&b=1', {}],
    ['marketing parameters', '/a', {}, '/a?gclid=1', {}],
    ['escapes', '/%C3%A4/~x', {}, '/%c3%a4/%7Ex', {}],
    [
      'a variant',
      '/a',
      { cookie: 'sw-currency=EUR; sw-cache-hash=x' },
      '/a',
      { Cookie: 'sw-cache-hash=x; a=1; sw-currency=EUR' },
    ],
  ])('%s', async (_, warmed, headers, visited, visitor) => {
    const { site, warm } = await open()
    site.answers({ fields, body: 'page' })
    expect(await warm(warmed, headers)).toMatchObject({ kind: 'stored', status: 200 })
    expect((await site.visit(visited, { fields: visitor })).field('cache-status')).toMatch(/; hit/)
    expect(site.origin.requests).toHaveLength(1)
  })

  it('a visited page needs no warming', async () => {
    const { site, warm } = await open()
    site.answers({ fields, body: 'page' })
    await site.visit('/a?b=1&a=2')
    expect(await warm('/a?a=2&b=1')).toEqual({ kind: 'fresh' })
    expect(await warm('/a?a=2&b=1', {}, true)).toMatchObject({ kind: 'stored' })
    expect(site.origin.requests).toHaveLength(2)
  })

  it('the origin gets the canonical target and the public host', async () => {
    const { site, warm } = await open()
    site.answers({ fields, body: 'page' })
    await warm('/a?b=1&utm_source=x&a=2')
    expect(site.origin.requests[0]).toMatchObject({ method: 'GET', target: '/a?a=2&b=1' })
    expect(site.origin.requests[0]!.fields.get('host')).toBe('shop.example')
  })
})

describe('a warmup that joins the fetch of a visitor', () => {
  /** Visits and warms `/a` while the shop prepares one response. Then the shop sends `reply`; `before` runs just before that. */
  async function join(
    { site, fetchPage }: Awaited<ReturnType<typeof open>>,
    reply: Reply,
    { before = async () => {}, force = false }: { before?: () => Promise<unknown>; force?: boolean } = {},
  ) {
    const asked = site.origin.requests.length
    const { promise, resolve } = Promise.withResolvers<Reply>()
    site.answers(() => promise)
    const visit = site.visit('/a')
    await until(() => expect(site.origin.requests).toHaveLength(asked + 1))
    const joining = Promise.withResolvers<void>()
    const mayStart = () => {
      joining.resolve()
      return true
    }
    const warming = fetchPage(`${shopUrl}/a`, { ...fetchOptions, force, mayStart })
    await joining.promise
    await before()
    resolve(reply)
    return { result: await warming, visit: await visit, requests: site.origin.requests.length - asked }
  }

  it.each([false, true])('requests nothing when the page is stored; with force: %s', async (force) => {
    const { result, visit, requests } = await join(await open(), { fields, body: 'page' }, { force })
    expect([result, visit.text, requests]).toEqual([{ kind: 'fresh' }, 'page', 1])
  })

  it('fetches a page again that was purged meanwhile', async () => {
    const opened = await open()
    const before = () => opened.site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
    const { result, visit, requests } = await join(opened, { fields, body: 'page' }, { before })
    expect(visit.field('cache-status')).toContain('invalidated while it was fetched')
    expect([result, requests]).toEqual([expect.objectContaining({ kind: 'stored', status: 200 }), 2])
    expect((await opened.site.visit('/a')).field('cache-status')).toMatch(/; hit/)
  })

  it.each([false, true])('fails when the page is a cached error; with force: %s', async (force) => {
    const { result, visit, requests } = await join(await open(), { status: 404, fields }, { force })
    expect([visit.status, requests]).toEqual([404, 1])
    expect(evaluateAttempt(result!, noAttempts, { retries: 3, maxWait: 0 }, 0)).toEqual({
      kind: 'failed',
      status: 404,
      error: 'answered 404',
    })
  })

  it('fails when the shop answers an error and the visitor gets the stale page', async () => {
    const opened = await open()
    opened.site.answers({ fields: { 'Cache-Control': 'max-age=10, stale-if-error=600' }, body: 'old' })
    await opened.site.visit('/a')
    opened.site.wait(20)
    const { result, visit, requests } = await join(opened, { status: 500 })
    expect([visit.status, visit.text]).toEqual([200, 'old'])
    expect([result, requests]).toEqual([expect.objectContaining({ kind: 'failed', status: 500 }), 2])
  })
})

describe('the result of warming a page', () => {
  it.each<[string, Reply, object]>([
    [
      'private',
      { fields: { 'Cache-Control': 'private' } },
      { kind: 'not-stored', status: 200, reason: 'Cache-Control: private' },
    ],
    ['gone', { status: 404 }, { kind: 'failed', status: 404 }],
    ['an error', { status: 503, fields: { 'Retry-After': '7' } }, { kind: 'failed', status: 503, retryAfter: 7000 }],
    ['broken', { breaks: 'before' }, { kind: 'failed', status: null }],
  ])('%s', async (_, reply, result) => {
    const { site, warm } = await open()
    site.answers(reply)
    expect(await warm('/a')).toMatchObject(result)
  })

  it('stale and validated: stored', async () => {
    const { site, warm } = await open()
    site.answers({ fields: { ...fields, ETag: '"a"' }, body: 'page' })
    await warm('/a')
    site.wait(70)
    site.answers({ status: 304, fields: { ...fields, ETag: '"a"' } })
    expect(await warm('/a')).toMatchObject({ kind: 'stored' })
    expect((await site.visit('/a')).text).toBe('page')
    expect(site.origin.requests).toHaveLength(2)
  })

  it('a path that is never cached and a URL without a channel cost no request', async () => {
    const { site, warm } = await open()
    expect((await warm('/checkout/cart'))?.kind).toBe('not-stored')
    expect(classifyUrl('http://evil.example/', {}, new AbortController().signal, site.cache.classifying)).toBeNull()
    expect(site.origin.requests).toEqual([])
  })
})
