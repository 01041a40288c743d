import { gunzipSync, zstdDecompressSync, brotliDecompressSync } from 'node:zlib'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { inspectUrl } from '../../../src/cache/inspect.ts'
import { resultOf } from '../../../src/traffic/result.ts'
import { shopUrl } from '../site.ts'
import { include, lasting, openEsiShop, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openEsiShop()
  onTestFinished(() => shop.close())
  shop.page('/', template(`<${include('/_esi/header')}|home>`, { xkey: 'home', ETag: '"home"' }))
  shop.page('/_esi/header', lasting('menu 1', { xkey: 'menu' }))
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

describe('a fragment', () => {
  it('that is private makes the answer private to its request', async () => {
    let count = 0
    shop.page('/_esi/basket', () => ({
      fields: { 'Cache-Control': 'private, no-store', 'Set-Cookie': `basket=${(count += 1)}` },
      body: `basket ${count}`,
    }))
    shop.page('/', template(`${include('/_esi/header')} ${include('/_esi/basket')}`))
    for (const expected of ['1', '2', '3']) {
      const answer = await shop.visit('/')
      expect(answer.text).toBe(`menu 1 basket ${expected}`)
      expect(answer.field('cache-control')).toBe('private, no-store')
      expect(answer.field('set-cookie')).toBe(`basket=${expected}`)
      expect(answer.field('cache-status')).toContain('/_esi/basket is private')
      // It was requested for this visitor.
      expect([answer.field('age'), resultOf(answer.field('cache-status'))]).toEqual(['0', 'miss'])
    }
    expect([shop.asked('/'), shop.asked('/_esi/header')]).toEqual([1, 1])
    expect(shop.faults).toEqual([])
  })

  it('that the shop had to be asked for makes the answer no hit, at any depth', async () => {
    shop.page('/_esi/outer', template(include('/_esi/inner')))
    shop.page('/_esi/inner', lasting('inner', { xkey: 'inner' }))
    shop.page('/', template(`${include('/_esi/outer')}`))
    await shop.visit('/')
    expect((await shop.visit('/')).field('cache-status')).toContain('hit')
    await shop.store.remove({ kind: 'tags', tags: ['inner'] })
    expect((await shop.visit('/')).field('cache-status')).toBe(
      'pagecache; fwd=partial; fwd-status=200; detail="not all fragments were cached"',
    )
    expect((await shop.visit('/')).field('cache-status')).toBe('pagecache; hit; ttl=600')
    expect([shop.asked('/'), shop.asked('/_esi/outer'), shop.asked('/_esi/inner')]).toEqual([1, 1, 2])
  })

  it('that the shop had to be asked for makes the answer no hit, whatever a cache in front of the shop says', async () => {
    shop.page('/', template(include('/_esi/basket')))
    shop.page('/_esi/basket', { fields: { 'Cache-Control': 'private', 'Cache-Status': '"CDN"; hit' }, body: 'basket' })
    await shop.visit('/')
    expect(resultOf((await shop.visit('/')).field('cache-status'))).toBe('miss')
  })

  it('that sets a cookie although it may be shared sets it for the visitor who caused it alone', async () => {
    shop.page('/_esi/header', lasting('menu', { 'Set-Cookie': 'seen=1' }))
    expect((await shop.visit('/')).field('set-cookie')).toBe('seen=1')
    for (let visit = 0; visit < 2; visit++) {
      const answer = await shop.visit('/')
      expect([answer.text, answer.field('set-cookie'), answer.hot]).toEqual(['<menu|home>', null, true])
    }
    await shop.store.remove({ kind: 'urls', urls: [`${shopUrl}/`] })
    expect((await shop.visit('/')).field('set-cookie')).toBeNull()
  })

  it('that starts another session than the page leaves the visitor the session of the page', async () => {
    const session = (id: string) => ({ 'Set-Cookie': [`session=${id}; path=/`, `seen-${id}=1`] })
    shop.page('/', template(`${include('/_esi/header')}${include('/_esi/footer')}`, session('page')))
    shop.page('/_esi/header', template(include('/_esi/menu'), session('header')))
    for (const name of ['menu', 'footer']) shop.page(`/_esi/${name}`, lasting(name, session(name)))
    const { headers } = await shop.visit('/')
    expect(headers.filter(([name]) => name.toLowerCase() === 'set-cookie').map(([, value]) => value)).toEqual([
      'session=page; path=/',
      'seen-page=1',
      'seen-header=1',
      'seen-menu=1',
      'seen-footer=1',
    ])
    await shop.store.remove({ kind: 'urls', urls: [`${shopUrl}/_esi/menu`, `${shopUrl}/_esi/footer`] })
    const again = await shop.visit('/')
    expect(again.field('set-cookie')).toBe('session=menu; path=/, seen-menu=1, seen-footer=1')
  })

  it('that starts another session for a visitor who has one is heard, although the page lets the old one last longer', async () => {
    const session = (id: string) => ({ 'Cache-Control': 'private', 'Set-Cookie': `session=${id}; path=/` })
    shop.page('/', template(`${include('/_esi/menu')}${include('/_esi/basket')}`, session('old')))
    shop.page('/_esi/menu', { fields: session('old'), body: 'menu' })
    shop.page('/_esi/basket', { fields: session('new'), body: 'basket' })
    const cookiesFor = async (cookie: string) =>
      (await shop.visit('/', { fields: { Cookie: cookie } })).field('set-cookie')
    expect(await cookiesFor('session=old')).toBe('session=new; path=/')
    expect(await cookiesFor('session=older')).toBe('session=old; path=/')
    // In one response the last line counts.
    const twice = ['session=deleted; Max-Age=0', 'session=old; path=/']
    shop.page('/_esi/basket', { fields: { ...session('old'), 'Set-Cookie': twice }, body: 'basket' })
    expect(await cookiesFor('session=old')).toBe('session=old; path=/')
  })

  it('that has changed is sent to a browser with the page from before', async () => {
    const { text, ...first } = await shop.visit('/')
    const condition = { 'If-None-Match': first.field('etag')! }
    expect((await shop.visit('/', { fields: condition })).status).toBe(304)
    shop.page('/_esi/header', lasting('menu 2', { xkey: 'menu' }))
    await shop.store.remove({ kind: 'tags', tags: ['menu'] })
    const answer = await shop.visit('/', { fields: condition })
    expect([answer.status, answer.text]).toEqual([200, text.replace('menu 1', 'menu 2')])
    const range = { Range: 'bytes=1-6', 'If-Range': condition['If-None-Match'] }
    expect((await shop.visit('/', { fields: range })).status).toBe(200)
    const head = await shop.visit('/', { method: 'HEAD', fields: { 'If-None-Match': answer.field('etag')! } })
    expect(head.status).toBe(304)
  })

  it.each([
    ['another host', 'http://evil.example/_esi/header'],
    ['another scheme', 'https://shop.example/_esi/header'],
    ['no path of fragments', '/account'],
    ['a path that looks like one', '/_esi/../account'],
    ['an escaped path', '/_esi/..%2faccount'],
    ['a name that begins like one', '/_fragments'],
    ['no scheme', '//evil.example/_esi/header'],
    ['another port', 'http://shop.example:81/_esi/header'],
    ['user info', 'http://shop.example@evil.example/_esi/header'],
    ['a file', 'file:///_esi/header'],
    ['an endpoint of the daemon', '/api/_action/vendor-cache/stats'],
    ['a path with a blank', '/_esi/ header'],
    ['a backslash', '/_esi\\header'],
    ['itself', '/'],
  ])('at %s is left out and told', async (_, src) => {
    shop.page('/', template(`a${include(src)}b`))
    const answer = await shop.visit('/')
    expect(answer.text).toBe('ab')
    expect(answer.field('cache-status')).toMatch(/detail=".* removed: /)
    expect(shop.origin.requests).toHaveLength(1)
    expect(shop.faults).toEqual([expect.stringContaining('removed: ')])
    // It is told of hits too, and logged once.
    const hit = await shop.visit('/')
    expect(hit.hot).toBe(true)
    expect(hit.field('cache-status')).toMatch(/hit; ttl=600; detail=".* removed: /)
    expect(shop.faults).toHaveLength(1)
  })

  it('may include fragments, three deep', async () => {
    for (let depth = 1; depth <= 6; depth++)
      shop.page(`/_esi/${depth}`, template(`${depth}${include(`/_esi/${depth + 1}`)}`))
    shop.page('/', template(include('/_esi/1')))
    const answer = await shop.visit('/')
    expect(answer.text).toBe('123')
    expect(answer.field('cache-status')).toContain('/_esi/4 removed: more than 3 deep')
    // As a page of its own a fragment has its own depth, which does not show in pages around it.
    expect((await shop.visit('/_esi/2')).text).toBe('2345')
    expect((await shop.visit('/_esi/3')).text).toBe('3456')
    expect((await shop.visit('/')).text).toBe('123')
    await shop.store.remove({ kind: 'urls', urls: [`${shopUrl}/`] })
    expect((await shop.visit('/')).text).toBe('123')
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
