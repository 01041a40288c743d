import { describe, expect, it, onTestFinished } from 'vitest'
import { shopwareParameters } from '../../src/cache/ignored-parameters.ts'
import { openShopware, shared } from './shopware-preset.ts'
import { isHit, openSite } from './site.ts'

const session = 'session-=0a1b2c3d4e5f60718293'

describe('pages', () => {
  it('a page with s-maxage is stored for that long', async () => {
    const { site, get } = await openShopware(shared)
    await get('/a')
    site.wait(7199)
    expect(isHit(await get('/a'))).toBe(true)
  })

  it('tags and states never reach a visitor', async () => {
    const { get } = await openShopware({ ...shared, xkey: 'product-1', 'sw-invalidation-states': 'logged-in' })
    for (const answer of [await get('/a'), await get('/a')])
      for (const name of ['xkey', 'sw-invalidation-states']) expect(answer.field(name)).toBeNull()
  })

  it('a visitor in a state of sw-invalidation-states gets the page from the shop', async () => {
    const { get } = await openShopware({ ...shared, 'sw-invalidation-states': 'logged-in,cart-filled' })
    expect((await get('/a')).text).toBe('page 1')
    expect((await get('/a', 'sw-states=logged-in')).text).toBe('page 2')
    expect((await get('/a')).text).toBe('page 1')
  })

  it('a cookie set with a public page is only for the visitor whose request caused it', async () => {
    const { get } = await openShopware({ ...shared, 'Set-Cookie': 'session-=new' })
    expect((await get('/a')).field('set-cookie')).toBe('session-=new')
    expect((await get('/a')).field('set-cookie')).toBeNull()
  })

  it('a request with Authorization is never answered from the cache', async () => {
    const { get } = await openShopware(shared)
    await get('/a')
    expect((await get('/a', null, { Authorization: 'Basic eDp5' })).text).toBe('page 2')
  })

  it('the paths of the checkout, the account, the administration and its API are passed in every spelling', async () => {
    const { get, requests } = await openShopware(shared)
    const targets = ['/checkout/cart', '/account', '/admin', '/api/x', '/Checkout/cart', '/%61ccount', '/x/../account']
    for (const target of targets) expect((await get(target)).field('cache-status')).toMatch(/fwd=bypass/)
    expect(requests.map(({ target }) => target)).toEqual(targets)
  })
})

describe('variants', () => {
  /** A shop that gives every visitor a variant at /login and marks no page with it. */
  const giving = (cookie: string) => (request: { target: string }) =>
    request.target === '/account/login'
      ? { fields: { 'Cache-Control': 'private', 'Set-Cookie': [`${cookie}`, session] } }
      : { fields: shared }

  it('sw-cache-hash is part of the key once the shop has given it to the visitor', async () => {
    const { get } = await openShopware(giving('sw-cache-hash=group-a'))
    await get('/account/login')
    expect((await get('/a', `sw-cache-hash=group-a; ${session}`)).text).toBe('page 2')
    expect((await get('/a', 'sw-cache-hash=group-a')).text).toBe('page 2')
    expect((await get('/a')).text).toBe('page 3')
    expect((await get('/a', 'sw-cache-hash=group-b')).text).toBe('page 4')
  })

  it('a hash that the shop never gave fills no page of other visitors', async () => {
    const { get } = await openShopware(shared)
    expect((await get('/a', 'sw-cache-hash=group-a; x=1')).text).toBe('page 1')
    expect((await get('/a', 'sw-cache-hash=group-a; x=2')).text).toBe('page 2')
  })

  it('sw-currency is part of the key without a hash', async () => {
    const { get } = await openShopware(giving('sw-currency=usd'))
    await get('/account/login')
    expect((await get('/a', `sw-currency=usd; ${session}`)).text).toBe('page 2')
    expect(isHit(await get('/a', 'sw-currency=usd'))).toBe(true)
    expect((await get('/a')).text).toBe('page 3')
  })

  it('beside a hash, sw-currency is neither in the key nor sent to the shop', async () => {
    const { get, requests } = await openShopware(giving('sw-cache-hash=group-a'))
    await get('/account/login')
    await get('/a', `sw-cache-hash=group-a; sw-currency=usd; ${session}`)
    expect(requests.at(-1)!.fields.get('cookie')).toBe(`sw-cache-hash=group-a; ${session}`)
    expect((await get('/a', `sw-cache-hash=group-a; ${session}`)).text).toBe('page 2')
    expect((await get('/a', `sw-cache-hash=group-a; sw-currency=eur; ${session}`)).text).toBe('page 2')
  })

  it('a session with a hash fills no page when it comes without the cookie', async () => {
    const { get } = await openShopware(giving('sw-cache-hash=group-a'))
    await get('/account/login')
    expect((await get('/a', `sw-currency=usd; ${session}`)).text).toBe('page 2')
    expect((await get('/a', 'sw-currency=usd; x=1')).text).toBe('page 3')
  })

  it('sw-cache-hash=not-cacheable is passed', async () => {
    const { get } = await openShopware(shared)
    await get('/a')
    expect((await get('/a', 'sw-cache-hash=not-cacheable')).field('cache-status')).toMatch(/fwd=bypass/)
  })

  it('a field sw-cache-hash counts like the cookie', async () => {
    const { get, requests } = await openShopware((request) => ({
      fields: { ...shared, 'sw-cache-hash': request.fields.get('sw-cache-hash') ?? 'none', Vary: 'sw-cache-hash' },
    }))
    expect((await get('/store-api/a', null, { 'sw-cache-hash': 'group-a' })).text).toBe('page 1')
    expect((await get('/store-api/a', null, { 'sw-cache-hash': 'group-a' })).text).toBe('page 1')
    expect((await get('/store-api/a', null, { 'sw-cache-hash': 'group-b' })).text).toBe('page 2')
    for (const hash of ['group-b', 'x; session-=1'])
      expect(
        (await get('/store-api/a', 'sw-cache-hash=group-a', { 'sw-cache-hash': hash })).field('cache-status'),
      ).toMatch(/fwd=bypass.*malformed or differs/)
    expect((await get('/store-api/a', null, { 'sw-cache-hash': 'x; y=1' })).field('cache-status')).toMatch(/fwd=bypass/)
    expect(requests).toHaveLength(5)
  })

  it('a field sw-cache-hash that the shop contradicts fills no page', async () => {
    const { get } = await openShopware({ ...shared, 'sw-cache-hash': 'group-b', Vary: 'sw-cache-hash' })
    for (const page of ['page 1', 'page 2'])
      expect((await get('/store-api/a', null, { 'sw-cache-hash': 'group-a' })).text).toBe(page)
  })
})

describe('6.7.6 and later', () => {
  const vary = { Vary: 'sw-access-key, sw-language-id, sw-currency-id, sw-cache-hash' }

  it('Vary of the Store API makes a page for each access key, language and currency', async () => {
    const { get } = await openShopware({ ...shared, ...vary, 'sw-language-id': 'de', 'sw-currency-id': 'eur' })
    const key = { 'sw-access-key': 'SWSCA' }
    expect((await get('/store-api/a', null, key)).text).toBe('page 1')
    expect((await get('/store-api/a', null, key)).text).toBe('page 1')
    expect((await get('/store-api/a', null, { 'sw-access-key': 'SWSCB' })).text).toBe('page 2')
    expect((await get('/store-api/a', null, { ...key, 'sw-language-id': 'en' })).text).toBe('page 3')
    expect((await get('/store-api/a', null, { ...key, 'sw-currency-id': 'usd' })).text).toBe('page 4')
    expect((await get('/store-api/a')).text).toBe('page 5')
    expect((await get('/store-api/a', null, key)).text).toBe('page 1')
  })

  it('a response with another sw-cache-hash than its request is not stored', async () => {
    const { get } = await openShopware({ ...shared, ...vary, 'sw-cache-hash': 'group-b' })
    for (const cookie of ['sw-cache-hash=group-a', null]) {
      const answer = await get('/a', cookie)
      expect(answer.field('cache-status')).toMatch(/detail="the response is for a different sw-cache-hash/)
    }
  })

  it('sw-dynamic-cache-bypass: 1 is not stored, and for one second visitors do not wait for each other', async () => {
    const bypass = { 'Cache-Control': 'private, no-cache', 'sw-dynamic-cache-bypass': '1' }
    let fields: Record<string, string> = bypass
    const { site, get, requests } = await openShopware(() => ({ fields }))
    expect((await get('/a')).field('cache-status')).toMatch(/detail="sw-dynamic-cache-bypass"/)
    fields = shared
    /** Requests of the shop for one page of two visitors at a time. */
    const cost = async () => {
      const before = requests.length
      await Promise.all([get('/a', 'x=1'), get('/a', 'x=2')])
      return requests.length - before
    }
    fields = bypass
    expect(await cost()).toBe(2)
    fields = shared
    site.wait(1.1)
    expect(await cost()).toBe(1)
  })
})

describe('paths with rules of their own', () => {
  const info = '/widgets/checkout/info'

  it('/widgets/checkout/info is empty for visitors without a hash and without a filled cart', async () => {
    const { get, requests } = await openShopware({ 'Cache-Control': 'private' })
    for (const cookie of [null, session, 'sw-currency=usd', 'sw-states=logged-in', 'sw-cache-hash=']) {
      const answer = await get(info, cookie)
      expect({ status: answer.status, hot: answer.hot, caching: answer.field('cache-control') }, `${cookie}`).toEqual({
        status: 204,
        hot: true,
        caching: 'no-store',
      })
    }
    expect(requests).toEqual([])
    for (const cookie of ['sw-cache-hash=group-a', 'sw-states=cart-filled', 'sw-states=a%20Cart-filled'])
      expect((await get(info, cookie)).status).toBe(200)
    expect((await get(`${info}?x=1`)).status).toBe(200)
    expect((await get(info, null, { Authorization: 'Basic eDp5' })).status).toBe(200)
    expect((await get(info, null, { 'sw-cache-hash': 'group-a' })).status).toBe(200)
  })

  it.each(['/media/a.jpg', '/thumbnail/a.jpg', '/theme/a.css', '/bundles/a.js'])(
    'visitors with any cookies share the asset',
    async (target) => {
      const { get, requests } = await openShopware({ 'Cache-Control': 'max-age=600', 'Content-Type': 'image/png' })
      for (const cookie of ['sw-cache-hash=not-cacheable', 'sw-cache-hash=a', 'sw-currency=b', session, null])
        expect((await get(target, cookie)).text).toBe('page 1')
      expect(requests.map(({ fields }) => fields.get('cookie'))).toEqual([undefined])
    },
  )

  it.each(['max-age=600', 'public, max-age=600', 'private', 'no-store'])(
    'an asset never starts a session',
    async (caching) => {
      const { site, get, requests } = await openShopware({ 'Cache-Control': caching, 'Set-Cookie': 'session-=new' })
      const head = await site.visit('/media/a', { method: 'HEAD', fields: { Cookie: session } })
      const precondition = await get('/media/a', session, { 'If-Match': '"a"' })
      for (const answer of [head, precondition, await get('/media/a', session), await get('/media/a', session)])
        expect(answer.field('set-cookie')).toBeNull()
      expect(requests.every(({ fields }) => !fields.has('cookie'))).toBe(true)
    },
  )

  it.each(['/mediathek/a', '/media', '/x/media/a', '/media/../a', '/media/..%2Fa', '/media/..;/a', '/media/%2e%2e/a'])(
    'the path %s is no asset',
    async (target) => {
      const { get, requests } = await openShopware(shared)
      await get(target, session)
      expect(requests[0]!.fields.get('cookie')).toBe(session)
    },
  )

  it('cookies of an upload below an asset path reach the shop', async () => {
    const { site, requests } = await openShopware({})
    await site.visit('/media/a', { method: 'POST', fields: { Cookie: session }, body: 'x' })
    expect(requests[0]!.fields.get('cookie')).toBe(session)
  })

  it("Shopware's 117 parameters are neither in the key nor sent to the shop", async () => {
    const { get, requests } = await openShopware(shared)
    expect(new Set(shopwareParameters).size).toBe(117)
    for (const name of shopwareParameters) await get(`/a?b=1&${name}=x`)
    expect(requests.map(({ target }) => target)).toEqual(['/a?b=1'])
    await get('/a?b=1&kwx=x')
    expect(requests).toHaveLength(2)
  })
})

describe('caching by browsers', () => {
  it('browsers are told not to store pages', async () => {
    const { site, get } = await openShopware({ ...shared, ETag: '"a"', Expires: '0', 'CDN-Cache-Control': 'max-age=9' })
    const long = await site.visit('/a', { long: true })
    const head = await site.visit('/a', { method: 'HEAD' })
    const answers = [long, await get('/a'), head, await get('/a', null, { 'If-None-Match': '"a"' })]
    for (const answer of [...answers, await get('/a', null, { Range: 'bytes=0-1' })]) {
      expect(answer.field('cache-control')).toBe('no-store')
      for (const name of ['expires', 'cdn-cache-control']) expect(answer.field(name)).toBeNull()
    }
  })

  it('a cache in front that receives purges gets the directives of the shop', async () => {
    const { site, get } = await openShopware(shared)
    await get('/a')
    const answer = await site.visit('/a', { isPurged: true })
    expect(answer.field('cache-control')).toBe('public, s-maxage=7200')
    expect(isHit(answer)).toBe(true)
  })

  it('browsers get what the shop says about assets, the Store API and personal pages', async () => {
    const { get } = await openShopware((request) => ({
      fields: { 'Cache-Control': request.target === '/mine' ? 'private, max-age=5' : 'public, max-age=600' },
    }))
    for (const target of ['/media/a', '/store-api/a'])
      for (let visits = 0; visits < 2; visits += 1)
        expect((await get(target)).field('cache-control')).toBe('public, max-age=600')
    expect((await get('/mine')).field('cache-control')).toBe('private, max-age=5')
  })
})

it('without a preset, a visitor with a variant cookie of Shopware is passed', async () => {
  const site = await openSite({ variants: { cookies: [], headers: [] } })
  onTestFinished(() => site.close())
  site.answers({ fields: shared, body: 'page' })
  await site.visit('/a')
  for (const fields of [{ Cookie: 'sw-cache-hash=a' }, { Cookie: 'sw-currency=a' }, { 'sw-cache-hash': 'a' }])
    expect((await site.visit('/a', { fields })).field('cache-status')).toMatch(/fwd=bypass/)
})
