import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { openSite, shopUrl } from './site.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60' }

async function open(answers: Reply | ((request: OriginRequest) => Reply), changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(answers)
  return {
    site,
    get: (cookie: string | null, target = '/a', more: Record<string, string> = {}) =>
      site.visit(target, { fields: { ...more, ...(cookie === null ? {} : { Cookie: cookie }) } }),
    requestCount: () => site.origin.requests.length,
  }
}

/** Responses with a sequence number as body. */
function numbered(more: Record<string, string> = {}): (request: OriginRequest) => Reply {
  let count = 0
  return () => ({ fields: { ...fields, ...more }, body: String(++count) })
}

describe('client states', () => {
  const states = { 'sw-invalidation-states': 'logged-in,cart-filled' }

  it('a visitor in an excluded state is passed through, others get the page', async () => {
    const { get, requestCount } = await open(numbered(states))
    expect((await get(null)).text).toBe('1')
    expect((await get('sw-states=logged-in')).text).toBe('2')
    expect((await get('sw-states=other%2Ccart-filled')).text).toBe('3')
    expect((await get('sw-states=other')).text).toBe('1')
    expect((await get(null)).text).toBe('1')
    expect(requestCount()).toBe(3)
  })

  it('a visitor in an excluded state fills no page', async () => {
    const { get } = await open(numbered(states))
    const answer = await get('sw-states=Logged-In')
    expect(answer.field('cache-status')).toMatch(/detail="the page excludes visitors in state logged-in/)
    expect((await get(null)).text).toBe('2')
    expect((await get(null)).text).toBe('2')
  })

  it('a page without excluded states is served in every state', async () => {
    const { get } = await open(numbered())
    await get(null)
    expect((await get('sw-states=logged-in')).text).toBe('1')
  })

  it('a validation can change the excluded states', async () => {
    const { site, get } = await open({ fields: { ...fields, ETag: '"a"' }, body: 'page' })
    await get(null)
    site.wait(70)
    site.answers({ status: 304, fields: { ...fields, ETag: '"a"', ...states } })
    expect((await get(null)).text).toBe('page')
    site.answers({ fields, body: 'own' })
    expect((await get('sw-states=logged-in')).text).toBe('own')
    expect((await get(null)).text).toBe('page')
  })
})

describe("fragments requested by the storefront's script", () => {
  const script = { 'X-Requested-With': 'XMLHttpRequest' }

  it('are stored separately from the page of the same URL', async () => {
    const { get, requestCount } = await open(numbered())
    expect((await get(null, '/widgets/buybox/1', script)).text).toBe('1')
    expect((await get(null, '/widgets/buybox/1', script)).text).toBe('1')
    expect((await get(null, '/widgets/buybox/1')).text).toBe('2')
    expect((await get(null, '/widgets/buybox/1', script)).text).toBe('1')
    expect(requestCount()).toBe(2)
  })

  it('in either order', async () => {
    const { get } = await open(numbered({ 'Cache-Control': 'max-age=60' }))
    expect((await get(null, '/a', script)).text).toBe('1')
    expect((await get(null, '/a')).text).toBe('2')
  })
})

describe('bypass', () => {
  it('sw-cache-hash=not-cacheable goes to the shop and fills no page', async () => {
    const { get } = await open(numbered())
    expect((await get('sw-cache-hash=not-cacheable')).text).toBe('1')
    expect((await get('sw-cache-hash=not-cacheable')).text).toBe('2')
    expect((await get(null)).text).toBe('3')
    expect((await get('sw-cache-hash=not-cacheable')).field('cache-status')).toMatch(/fwd=bypass/)
    expect((await get(null)).text).toBe('3')
  })

  it('sw-dynamic-cache-bypass: 1 is not stored', async () => {
    const { get, requestCount } = await open(numbered({ 'sw-dynamic-cache-bypass': '1' }))
    await get(null)
    expect((await get(null)).field('sw-dynamic-cache-bypass')).toBeNull()
    expect(requestCount()).toBe(2)
  })

  it('a configured bypass cookie goes to the shop, by name and by prefix', async () => {
    const { get, requestCount } = await open(numbered(), {
      bypass: { cookies: ['logged_in', 'wordpress_*'], paths: [] },
    })
    await get(null)
    for (const cookie of ['logged_in=1', 'a=1; wordpress_sec=x']) await get(cookie)
    expect(requestCount()).toBe(3)
    expect((await get('logged=1')).text).toBe('1')
  })

  it('a bypass path goes to the shop in every spelling', async () => {
    const { get, site } = await open(numbered())
    for (const target of [
      '/account',
      '/Account/x.css',
      '/account%2Fx.css',
      '/static/../account',
      '/account;x.css',
      '/checkout?a=1',
    ]) {
      await get(null, target)
      await get(null, target)
    }
    expect(site.origin.requests.map((request) => request.target)).toContain('/account%2Fx.css')
    expect(site.origin.requests).toHaveLength(12)
    expect(Object.values(site.store.counters()).reduce((sum, type) => sum + type.count, 0)).toBe(0)
  })
})

describe('variants', () => {
  it('each value of a variant cookie has its own page', async () => {
    const { get, requestCount } = await open((request) => ({ fields, body: request.fields.get('cookie') ?? 'none' }))
    const cookies = [null, 'sw-currency=EUR', 'sw-currency=CHF', 'sw-cache-hash=x', 'sw-cache-hash=x; sw-currency=EUR']
    for (const cookie of cookies) await get(cookie)
    for (const cookie of cookies) expect((await get(cookie)).text).toBe(cookie ?? 'none')
    expect((await get('sw-currency=EUR; sw-cache-hash=x')).text).toBe('sw-cache-hash=x; sw-currency=EUR')
    expect(requestCount()).toBe(5)
  })

  it('each value of a configured field has its own page', async () => {
    const { get, site } = await open((request) => ({ fields, body: request.fields.get('x-country') ?? 'none' }), {
      variants: { cookies: [], headers: ['X-Country'] },
    })
    for (const country of ['AT', 'DE', 'AT', 'DE'])
      expect((await get(null, '/a', { 'x-country': country })).text).toBe(country)
    expect(site.origin.requests).toHaveLength(2)
  })

  it('a purge of the URL removes all variants', async () => {
    const { get, site, requestCount } = await open(numbered())
    for (const cookie of [null, 'sw-currency=EUR', 'sw-cache-hash=x']) await get(cookie)
    expect(await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })).toBe(3)
    for (const cookie of [null, 'sw-currency=EUR', 'sw-cache-hash=x']) await get(cookie)
    expect(requestCount()).toBe(6)
  })

  it('a value that is too long is not cached', async () => {
    const { get, requestCount } = await open(numbered())
    const long = `sw-cache-hash=${'x'.repeat(300)}`
    await get(long)
    await get(long)
    expect(requestCount()).toBe(2)
  })
})

it('tags and states are stored but never sent to a visitor', async () => {
  const internal = {
    xkey: 'product-1 theme',
    'Surrogate-Key': 'a,b',
    'Cache-Tag': 'c',
    'sw-invalidation-states': 'logged-in',
    'Surrogate-Control': 'max-age=1',
  }
  const { site, get } = await open({ fields: { ...fields, ...internal, ETag: '"a"' }, body: 'page' })
  const answers = [
    await get(null),
    await get(null),
    await get(null, '/a', { 'If-None-Match': '"a"' }),
    await get(null, '/checkout'),
    await get('sw-states=logged-in'),
    await site.visit('/a', { method: 'POST', body: 'x' }),
  ]
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 304, 200, 200, 200])
  for (const answer of answers) for (const name of Object.keys(internal)) expect(answer.field(name), name).toBeNull()
  await get(null)
  expect(site.store.findByUrl(`${shopUrl}/a`)[0]!.tags.toSorted()).toEqual(['a', 'b', 'c', 'product-1', 'theme'])
})

it('the type of a page follows from its tags, fields and path', async () => {
  const { site, get } = await open(
    (request) => ({
      fields: { ...fields, ...(request.target.startsWith('/p') ? { xkey: 'product-1' } : { 'X-Type': 'list' }) },
    }),
    { types: [{ type: 'buybox', header: 'x-type: list' }] },
  )
  for (const target of ['/p', '/p2?p=2', '/other']) await get(null, target)
  const types = Object.entries(site.store.counters())
    .filter(([, { count }]) => count > 0)
    .map(([type]) => type)
  expect(types.toSorted()).toEqual(['buybox', 'listings', 'products'])
})
