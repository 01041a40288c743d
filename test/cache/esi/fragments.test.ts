import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { resultOf } from '../../../src/traffic/result.ts'
import { shopUrl } from '../site.ts'
import { include, lasting, openHome, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openHome()
  onTestFinished(() => shop.close())
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
