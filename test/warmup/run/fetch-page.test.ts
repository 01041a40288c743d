import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PageStore } from '../../../src/pages/page-store.ts'
import { openFilesystemStore } from '../../../src/pages/filesystem-store.ts'
import { buildCache } from '../../../src/cache/build.ts'
import { classifyUrl } from '../../../src/cache/classify-url.ts'
import type { StorefrontCache } from '../../../src/cache/storefront-cache.ts'
import { toFetchPage } from '../../../src/warmup/run/fetch-page.ts'
import type { FetchPage } from '../../../src/warmup/run/warm-result.ts'
import { fetchOptions } from '../../helpers/fetch-options.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

const shop = 'http://shop.example'
const page = (cacheControl = 'public, s-maxage=600') => ({
  headers: { 'content-type': 'text/html', 'cache-control': cacheControl },
  body: '<h1>A page</h1>',
})
let origin: Origin
let store: PageStore
let cache: StorefrontCache
let fetchPage: FetchPage
let close: () => Promise<void>

beforeEach(async () => {
  origin = await startOrigin()
  store = await openFilesystemStore({
    directory: await tempDir(),
    maxSize: null,
    now: Date.now,
    onWarning: () => {},
  })
  const built = await buildCache({
    channels: [{ id: 'a', name: 'A', url: shop, origin: origin.url }],
    aliases: new Map(),
    store,
    now: Date.now,
    memory: 1 << 20,
    compression: true,
    maxPageSize: 1 << 20,
    defaultTtl: 0,
    types: [],
    variants: { cookies: ['sw-currency'], headers: [] },
    emptyPaths: ['/empty'],
    assets: ['/media'],
    bypass: { cookies: ['logged-in'], paths: ['/checkout'] },
    ignoreQuery: [],
    timeouts: { connect: 2000, headers: 5000, idle: 5000, total: 10_000 },
    onError: (_, error) => {
      throw error
    },
  })
  cache = built.cache
  fetchPage = toFetchPage(cache, Date.now, 1000)
  close = async () => {
    await built.close()
    await store.close()
  }
})

afterEach(async () => {
  await close()
  await origin.stop()
})

const fetch = (path: string, options: { headers?: Record<string, string>; force?: boolean } = {}) =>
  fetchPage(shop + path, { ...fetchOptions, ...options })

it('a page is stored by its first fetch, fresh at the next, and fetched again with force', async () => {
  origin.on('/a', page())
  expect(await fetch('/a')).toMatchObject({ kind: 'stored', status: 200 })
  expect(await fetch('/a?utm_source=x')).toEqual({ kind: 'fresh' })
  expect(origin.hits('/a')).toBe(1)
  expect(await fetch('/a', { force: true })).toMatchObject({ kind: 'stored' })
  expect(origin.hits('/a')).toBe(2)
})

it('an empty path is not fetched, and an asset is fetched once for all variants', async () => {
  origin.on('/empty', page())
  origin.on('/media/a', page())
  expect(await fetch('/empty')).toMatchObject({ kind: 'not-stored', reason: expect.stringContaining('emptyPaths') })
  expect(origin.hits('/empty')).toBe(0)
  expect(await fetch('/media/a', { headers: { cookie: 'sw-currency=EUR' } })).toMatchObject({ kind: 'stored' })
  expect(await fetch('/media/a', { headers: { cookie: 'sw-currency=USD' } })).toEqual({ kind: 'fresh' })
  expect(origin.last('/media/a').headers['cookie']).toBeUndefined()
})

it('a page that is purged during its fetch is not stored, but may be later', async () => {
  origin.on('/a', async () => {
    await store.remove({ kind: 'urls', urls: [`${shop}/a`] })
    return page()
  })
  expect(await fetch('/a')).toMatchObject({ kind: 'not-stored', status: 200, transient: 'purge' })
  origin.on('/a', page())
  expect(await fetch('/a')).toMatchObject({ kind: 'stored' })
})

it('requests carry the public Host and no cookies', async () => {
  origin.on('/a', page())
  await fetch('/a')
  expect(origin.last('/a').headers).toMatchObject({ host: 'shop.example', 'user-agent': 'pagecache-warmup' })
  expect(origin.last('/a').headers['cookie']).toBeUndefined()
})

it('a page is in memory in one coding', async () => {
  origin.on('/a', { ...page(), body: '<p>A long page</p>'.repeat(100) })
  await fetch('/a')
  const found = classifyUrl(`${shop}/a`, {}, new AbortController().signal, cache.classifying)
  if (found?.kind !== 'lookup') throw new Error('not a page')
  expect(Object.keys(cache.find(found.lookup)!.bodies)).toEqual(['br'])
})

it('each variant is stored separately', async () => {
  origin.on('/a', page())
  await fetch('/a')
  expect(await fetch('/a', { headers: { cookie: 'sw-currency=USD' } })).toMatchObject({ kind: 'stored' })
  expect(await fetch('/a', { headers: { cookie: 'sw-currency=USD' } })).toEqual({ kind: 'fresh' })
  expect(origin.hits('/a')).toBe(2)
})

describe('uncacheable pages report why', () => {
  it('private, no-store, Set-Cookie', async () => {
    origin.on('/private', page('private'))
    origin.on('/no-store', page('no-store'))
    origin.on('/cookie', {
      headers: { 'content-type': 'text/html', 'cache-control': 'max-age=60', 'set-cookie': 'a=b' },
      body: 'x',
    })
    for (const path of ['/private', '/no-store', '/cookie']) {
      const result = await fetch(path)
      expect(result).toMatchObject({ kind: 'not-stored', status: 200 })
      expect(result?.kind === 'not-stored' && result.reason).not.toBe('')
    }
  })

  it('bypassed paths and cookies, without a request to the shop', async () => {
    expect(await fetch('/checkout/cart')).toMatchObject({ kind: 'not-stored', status: null })
    expect(await fetch('/a', { headers: { cookie: 'logged-in=1' } })).toMatchObject({
      kind: 'not-stored',
      status: null,
    })
    expect(await fetchPage('http://evil.example/', fetchOptions)).toMatchObject({ kind: 'not-stored', status: null })
    expect(origin.requests).toEqual([])
  })

  it('errors, with Retry-After', async () => {
    origin.on('/busy', { status: 429, headers: { 'retry-after': '7' } })
    expect(await fetch('/gone')).toMatchObject({ kind: 'failed', status: 404, retryAfter: null })
    expect(await fetch('/busy')).toMatchObject({ kind: 'failed', status: 429, retryAfter: 7000 })
  })

  it('a stored error page is a failure, also the second time', async () => {
    origin.on('/gone', { ...page(), status: 410 })
    const first = await fetch('/gone')
    const second = await fetch('/gone')
    for (const result of [first, second]) expect(['failed', 'stored']).toContain(result?.kind)
    expect(second).toMatchObject({ status: 410 })
  })

  it('missing and truncated responses', async () => {
    origin.on('/never', () => {})
    origin.on(
      '/half',
      (_, response) =>
        void response
          .writeHead(200, { 'content-length': '100', 'cache-control': 'max-age=60' })
          .write('half', () => response.destroy()),
    )
    expect(await fetch('/never')).toMatchObject({
      kind: 'failed',
      status: null,
      error: 'no complete response within 1 s',
    })
    expect(await fetch('/half')).toMatchObject({ kind: 'failed', status: null })
    await origin.stop()
    expect(await fetch('/off')).toMatchObject({ kind: 'failed', status: null })
    origin = await startOrigin()
  })
})
