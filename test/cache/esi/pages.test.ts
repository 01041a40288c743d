import { gunzipSync, zstdDecompressSync, brotliDecompressSync } from 'node:zlib'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { inspectUrl } from '../../../src/cache/inspect.ts'
import { shopUrl } from '../site.ts'
import { include, lasting, openHome, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openHome()
  onTestFinished(() => shop.close())
})

describe('a page with fragments', () => {
  it('is assembled, and is a hit from then on', async () => {
    const first = await shop.visit('/')
    expect(first.text).toBe('<menu 1|home>')
    expect(first.field('surrogate-control')).toBeNull()
    const second = await shop.visit('/')
    expect(second).toMatchObject({ text: '<menu 1|home>', hot: true })
    expect(second.field('cache-status')).toBe('pagecache; hit; ttl=600')
    expect(shop.origin.requests.map(({ target }) => target)).toEqual(['/', '/_esi/header'])
    for (const request of shop.origin.requests)
      expect(request.fields.get('surrogate-capability')).toBe('pagecache="ESI/1.0"')
  })

  it('gets a new fragment after a purge of its tag, without a request for the page', async () => {
    const first = await shop.visit('/')
    shop.page('/_esi/header', lasting('menu 2', { xkey: 'menu' }))
    expect((await shop.visit('/')).text).toBe('<menu 1|home>')
    expect(await shop.store.remove({ kind: 'tags', tags: ['menu'] })).toBe(1)
    const changed = await shop.visit('/')
    expect(changed.text).toBe('<menu 2|home>')
    expect(changed.field('etag')).not.toBe(first.field('etag'))
    expect(await shop.visit('/')).toMatchObject({ text: '<menu 2|home>', hot: true })
    expect(shop.asked('/')).toBe(1)
    expect(shop.asked('/_esi/header')).toBe(2)
  })

  it('shares its fragments with other pages', async () => {
    for (let number = 0; number < 50; number++) {
      shop.page(`/p/${number}`, template(`${include('/_esi/header')} ${number}`))
      expect((await shop.visit(`/p/${number}`)).text).toBe(`menu 1 ${number}`)
    }
    expect(shop.asked('/_esi/header')).toBe(1)
  })

  it('is sent in every coding', async () => {
    const text = 'word '.repeat(500)
    shop.page('/', template(`${text}${include('/_esi/header')}`))
    const decoders = { gzip: gunzipSync, zstd: zstdDecompressSync, br: brotliDecompressSync }
    for (const [coding, decode] of Object.entries(decoders)) {
      for (const hot of [false, true]) {
        const answer = await shop.visit('/', { fields: { 'Accept-Encoding': coding } })
        expect(answer.field('content-encoding')).toBe(coding)
        expect(answer.field('content-length')).toBe(String(answer.body.length))
        expect(decode(answer.body).toString()).toBe(`${text}menu 1`)
        expect(answer.hot).toBe(hot)
      }
    }
    expect((await shop.visit('/')).text).toBe(`${text}menu 1`)
    expect(shop.origin.requests).toHaveLength(2)
  })

  it('answers HEAD, conditions and ranges like any other page', async () => {
    const whole = await shop.visit('/')
    const etag = whole.field('etag')!
    expect(etag).toMatch(/^"[\w-]{27}"$/)
    expect(whole.field('last-modified')).toBeNull()
    const head = await shop.visit('/', { method: 'HEAD' })
    expect(head.body).toHaveLength(0)
    expect(head.field('content-length')).toBe(String(whole.body.length))
    expect((await shop.visit('/', { fields: { 'If-None-Match': etag } })).status).toBe(304)
    expect((await shop.visit('/', { fields: { 'If-None-Match': '"home"' } })).status).toBe(200)
    const range = await shop.visit('/', { fields: { Range: 'bytes=1-4', 'If-Range': etag } })
    expect(range).toMatchObject({ status: 206, text: 'menu' })
    expect(range.field('content-range')).toBe(`bytes 1-4/${whole.body.length}`)
    shop.page('/_esi/header', lasting('other', { xkey: 'menu' }))
    await shop.store.remove({ kind: 'tags', tags: ['menu'] })
    expect(await shop.visit('/', { fields: { 'If-None-Match': etag } })).toMatchObject({
      status: 200,
      text: '<other|home>',
    })
    expect((await shop.visit('/', { fields: { Range: 'bytes=1-4', 'If-Range': etag } })).status).toBe(200)
  })

  it('has the tags, Vary names and lifetime of all its parts', async () => {
    shop.page(
      '/',
      template(include('/_esi/header'), { 'Cache-Control': 'public, max-age=900, s-maxage=900', Vary: 'X-A' }),
    )
    shop.page('/_esi/header', lasting('menu', { 'Cache-Control': 'public, max-age=60', Vary: 'X-B', xkey: 'menu' }))
    const first = await shop.visit('/')
    expect(first.field('cache-control')).toBe('public, max-age=60, s-maxage=60')
    expect(first.field('vary')).toBe('x-a, x-b')
    shop.wait(20)
    const later = await shop.visit('/')
    expect(later.field('cache-status')).toBe('pagecache; hit; ttl=40')
    expect(later.field('age')).toBe('20')
    shop.wait(50)
    expect((await shop.visit('/')).text).toBe('menu')
    expect([shop.asked('/'), shop.asked('/_esi/header')]).toEqual([1, 2])
  })
})

describe('a page tells other caches', () => {
  const told = async (page: string, fragment: string, of = 'cache-control') => {
    shop.page('/', template(include('/_esi/header'), { 'Cache-Control': page, ETag: '"1"' }))
    shop.page('/_esi/header', lasting('menu', { 'Cache-Control': fragment, ETag: '"1"' }))
    return (await shop.visit('/')).field(of)
  }

  it.each([
    ['public, max-age=60', 'max-age=60, must-revalidate', 'public, max-age=60, must-revalidate'],
    ['public, max-age=60', 'max-age=60, Proxy-Revalidate', 'public, max-age=60, proxy-revalidate'],
    ['public, max-age=60', 'max-age=60, no-transform', 'public, max-age=60, no-transform'],
    ['max-age=60, must-revalidate', 'max-age=60, must-revalidate', 'max-age=60, must-revalidate'],
    ['public, max-age=60', 's-maxage=60', 'public, max-age=60, proxy-revalidate'],
    ['public, s-maxage=60', 's-maxage=60', 'public, s-maxage=60'],
  ])('%s, with a fragment that says %s: %s', async (page, fragment, expected) => {
    expect(await told(page, fragment)).toBe(expected)
  })

  it.each([
    ['max-age=60', '0', '0'],
    ['max-age=60, stale-while-revalidate=5, stale-if-error=900', '5', '600'],
    ['max-age=60, stale-while-revalidate=900, stale-if-error=900', '300', '600'],
  ])('to serve it stale no longer than a fragment that says %s', async (fragment, revalidate, error) => {
    expect(await told('max-age=60, stale-while-revalidate=300, stale-if-error=600', fragment)).toBe(
      `max-age=60, stale-while-revalidate=${revalidate}, stale-if-error=${error}`,
    )
  })

  it('a shorter lifetime also where the page quotes its own', async () => {
    expect(await told('public, max-age="900"', 'max-age=60')).toBe('public, max-age=60')
  })

  it('what a fragment demands in the fields for CDNs too', async () => {
    const page = { 'Cache-Control': 'public, max-age=60', 'CDN-Cache-Control': 'max-age=60' }
    shop.page('/', template(include('/_esi/header'), page))
    shop.page('/_esi/header', lasting('menu', { 'Cache-Control': 'public, max-age=60, must-revalidate' }))
    expect((await shop.visit('/')).field('cdn-cache-control')).toBe('max-age=60, must-revalidate')
  })
})

describe('a page with fields for the caches of a vendor', () => {
  const fields = {
    'Cloudflare-CDN-Cache-Control': 'max-age=900',
    'CDN-Cache-Control': 'max-age=900',
    'Edge-Control': 'cache-maxage=900s',
    'X-Accel-Expires': '900',
  }
  const shown = async () => {
    const { headers } = await shop.visit('/')
    return Object.fromEntries(headers.filter(([name]) => /cache-control|edge|accel/i.test(name)))
  }

  beforeEach(() => shop.page('/', template(include('/_esi/header'), fields)))

  it('tells no cache to store a private fragment', async () => {
    shop.page('/_esi/header', { fields: { 'Cache-Control': 'private' }, body: 'mine' })
    expect(await shown()).toEqual({ 'Cache-Control': 'private, no-store' })
  })

  it('tells no cache to keep it longer than its fragments', async () => {
    shop.page('/_esi/header', lasting('menu', { 'Cache-Control': 'public, max-age=60' }))
    expect(await shown()).toEqual({
      'Cache-Control': 'public, s-maxage=60',
      'CDN-Cache-Control': 'max-age=60',
      'Cloudflare-CDN-Cache-Control': 'max-age=60',
    })
  })

  it('tells no cache to use it without validation where a fragment says no-cache', async () => {
    shop.page('/_esi/header', lasting('menu', { 'Cache-Control': 'public, no-cache, max-age=60', ETag: '"1"' }))
    expect(await shown()).toEqual({ 'Cache-Control': 'no-cache' })
  })
})

it('cache:inspect names the fragments of a page', async () => {
  const inspect = () => inspectUrl(shop.cache, shop.store, `${shopUrl}/`, shop.now(), new AbortController().signal)
  expect((await inspect()).reason).toContain('It is not cached now, but could be')
  expect(shop.origin.requests.at(-1)!.fields.get('surrogate-capability')).toBe('pagecache="ESI/1.0"')
  await shop.visit('/')
  const whole = await inspect()
  expect(whole.reason).toBe('It is cached and fresh: visitors get it without a request to the shop.')
  expect(whole.explanation.at(-1)).toMatch(/^Includes http:\/\/shop\.example\/_esi\/header, fresh for another 10 /)
  await shop.store.remove({ kind: 'tags', tags: ['menu'] })
  const lacking = await inspect()
  expect(lacking.reason).toContain('one of its fragments is not')
  expect(lacking.explanation.at(-1)).toBe('Includes http://shop.example/_esi/header, which is not cached.')
})
