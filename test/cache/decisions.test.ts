import { describe, expect, it } from 'vitest'
import type { HeaderPair } from '../../src/pages/page.ts'
import { ageAt, lifetimesOf, mayServeStale, type Received, usability } from '../../src/cache/freshness.ts'
import { reasonNotToStore, type RequestTraits } from '../../src/cache/may-store.ts'
import { secondaryKey, selects, varyNames } from '../../src/cache/vary.ts'
import { draft } from '../pages/draft.ts'
import { at, now, plainRequest, received } from './decision-inputs.ts'

describe('lifetimes', () => {
  const of = (control: string, more: HeaderPair[] = []) =>
    lifetimesOf(received([['Cache-Control', control], ...more]), { defaultTtl: 0, grace: 0 })

  it('computes lifetimes in seconds and times in milliseconds', () => {
    expect(of('max-age=60, stale-while-revalidate=30, stale-if-error=600', [['Age', '10']])).toEqual({
      cachedAt: now,
      initialAge: 10,
      lifetime: 60,
      staleWhileRevalidate: 30,
      staleIfError: 600,
      staleAllowed: true,
      noCache: false,
      staleAt: now + 50_000,
      deleteAt: now + 50_000 + 7 * 86_400_000,
    })
  })

  it('a page that cannot be used stale is deleted when it becomes stale', () => {
    const page = of('s-maxage=60')
    expect(page.deleteAt).toBe(page.staleAt)
    expect(of('s-maxage=60', [['ETag', '"a"']]).deleteAt).toBeGreaterThan(page.staleAt)
    expect(of('s-maxage=60, stale-while-revalidate=30').deleteAt).toBe(page.staleAt + 30_000)
  })

  it('the default lifetime applies to responses without explicit freshness', () => {
    expect(lifetimesOf(received([]), { defaultTtl: 300, grace: 0 }).lifetime).toBe(300)
    expect(lifetimesOf(received([['Last-Modified', at(-100)]]), { defaultTtl: 300, grace: 0 }).lifetime).toBe(300)
    expect(lifetimesOf(received([['Last-Modified', at(-86_400)]]), { defaultTtl: 300, grace: 0 }).lifetime).toBe(8640)
    expect(lifetimesOf(received([['Cache-Control', 'max-age=5']]), { defaultTtl: 300, grace: 0 }).lifetime).toBe(5)
    expect(lifetimesOf(received([['Expires', '0']]), { defaultTtl: 300, grace: 0 }).lifetime).toBe(0)
    expect(lifetimesOf(received([], { status: 500 }), { defaultTtl: 300, grace: 0 }).lifetime).toBe(0)
  })

  it('the age is the greatest known value, ignoring rounding of Date', () => {
    const age = (headers: HeaderPair[], more: Partial<Received> = {}) =>
      lifetimesOf(received(headers, more), { defaultTtl: 0, grace: 0 }).initialAge
    expect(age([['Date', at(0)]], { requestedAt: now + 900, receivedAt: now + 900 })).toBe(0)
    expect(
      age([
        ['Date', at(-30)],
        ['Age', '10'],
      ]),
    ).toBe(30)
    expect(
      age(
        [
          ['Date', at(0)],
          ['Age', '10'],
        ],
        { requestedAt: now - 5000 },
      ),
    ).toBe(15)
    expect(age([['Date', at(600)]])).toBe(0)
  })

  it('a clock that was set back makes plainRequest younger', () => {
    expect(ageAt({ initialAge: 7, cachedAt: now }, now - 3_600_000)).toBe(7)
  })
})

describe('usability of a page', () => {
  const page = draft('a', { staleAt: now, staleWhileRevalidate: 10, staleIfError: 20, deleteAt: now + 30_000 })

  it.each([
    [-1, 'fresh'],
    [0, 'stale-while-revalidate'],
    [9_999, 'stale-while-revalidate'],
    [10_000, 'stale'],
  ])('%i ms after it became stale: %s', (after, use) => {
    expect(usability(page, now + after)).toBe(use)
    expect(usability({ ...page, noCache: true }, now + after)).toBe('stale')
  })

  it('is served stale on an error, and longer when the origin is unreachable', () => {
    expect(mayServeStale(page, 'error', now + 19_999)).toBe(true)
    expect(mayServeStale(page, 'error', now + 20_000)).toBe(false)
    expect(mayServeStale(page, 'unreachable', now + 29_999)).toBe(true)
    expect(mayServeStale(page, 'unreachable', now + 30_000)).toBe(false)
    expect(mayServeStale({ ...page, staleAllowed: false }, 'unreachable', now + 20_000)).toBe(false)
    expect(mayServeStale({ ...page, noCache: true }, 'unreachable', now)).toBe(false)
  })
})

describe('storability', () => {
  const notStored = (headers: HeaderPair[], asked: Partial<RequestTraits> = {}, status = 200, ttl = 0) =>
    reasonNotToStore({ ...plainRequest, ...asked }, status, headers, ttl)
  const fresh: HeaderPair = ['Cache-Control', 'max-age=60']
  const shared: HeaderPair = ['Cache-Control', 'public, max-age=60']

  it.each<[string, HeaderPair[], Partial<RequestTraits>, boolean]>([
    ['explicit freshness', [fresh], {}, true],
    ['nothing at all', [], {}, false],
    ['a validator', [['ETag', '"a"']], {}, true],
    ['a request with cookies', [fresh], { unkeyedCookies: 'a=1' }, false],
    ['a request with cookies, public', [shared], { unkeyedCookies: 'a=1' }, true],
    ['Vary: Cookie and cookies', [shared, ['Vary', 'Cookie']], { unkeyedCookies: 'a=1' }, false],
    ['Vary: Cookie and none', [fresh, ['Vary', 'Cookie']], {}, true],
    ['an odd request', [shared], { odd: true }, false],
    ['a fragment requested by htmx', [shared], { headers: [['HX-Request', 'true']] }, false],
    [
      'a fragment requested by a script',
      [['Cache-Control', 'max-age=60']],
      { headers: [['X-Requested-With', 'XMLHttpRequest']] },
      false,
    ],
    [
      'a fragment requested by a script, in the key',
      [fresh],
      { headers: [['X-Requested-With', 'XMLHttpRequest']], keyedFields: ['x-requested-with'] },
      true,
    ],
    ['a fragment requested by another client', [shared], { headers: [['X-Requested-With', 'com.example.app']] }, false],
    [
      'a fragment that Vary names',
      [shared, ['Vary', 'X-Requested-With']],
      { headers: [['X-Requested-With', 'XMLHttpRequest']] },
      true,
    ],
    ['sw-dynamic-cache-bypass', [shared, ['sw-dynamic-cache-bypass', '1']], {}, false],
    ['an empty Expires', [['Expires', '']], {}, true],
    ['Set-Cookie', [fresh, ['Set-Cookie', 'a=1']], {}, false],
    [
      'Set-Cookie, s-maxage',
      [
        ['Cache-Control', 's-maxage=1'],
        ['Set-Cookie', 'a=1'],
      ],
      {},
      true,
    ],
  ])('%s', (_, headers, asked, may) => {
    expect(notStored(headers, asked) === null).toBe(may)
  })

  it('an error that the request may have caused is not stored', () => {
    expect(notStored([shared], {}, 404)).toBeNull()
    expect(notStored([shared], { headers: [['User-Agent', '\xe4']] }, 404)).not.toBeNull()
    expect(notStored([shared], {}, 416)).not.toBeNull()
    expect(notStored([shared], { headers: [['Accept', 'a'.repeat(600)]] }, 500)).not.toBeNull()
    expect(notStored([shared], { headers: [['Accept', 'a'.repeat(600)]] }, 200)).toMatch(/unusual Accept/)
    expect(
      notStored(
        [shared, ['Content-Type', 'text/html; charset=utf-8']],
        { headers: [['Accept', 'a'.repeat(600)]] },
        200,
      ),
    ).toBeNull()
  })

  it('a default lifetime makes responses without freshness storable, but no forbidden ones', () => {
    expect(notStored([], {}, 200, 60)).toBeNull()
    expect(notStored([], {}, 302, 60)).not.toBeNull()
    expect(notStored([['Cache-Control', 'no-store']], {}, 200, 60)).toBe('Cache-Control: no-store')
  })
})

describe('Vary', () => {
  const request = (fields: Record<string, string>, cookies: string | null = null) => ({
    field: (name: string) => fields[name] ?? null,
    unkeyedCookies: cookies,
  })

  it('lists its names in lower case, without duplicates', () => {
    expect(
      varyNames([
        ['Vary', 'Foo, bar'],
        ['vary', ' FOO '],
      ]),
    ).toEqual(['foo', 'bar'])
    expect(varyNames([['Vary', 'Foo, *']])).toBe('*')
    expect(varyNames([])).toEqual([])
  })

  it('a request matches the secondary key made from it', () => {
    const fields = { foo: 'a , b', 'accept-language': 'en;q=0.5, DE' }
    const vary = secondaryKey(['foo', 'accept-language', 'accept-encoding', 'cookie', 'none'], request(fields, 'a=1'))
    expect(vary).toEqual({ foo: 'a,b', 'accept-language': 'de,en;q=0.5', cookie: 'a=1', none: null })
    expect(selects({ vary, headers: [] }, request(fields, 'a=1'))).toBe(true)
    for (const other of [
      { ...fields, foo: 'a' },
      { ...fields, none: '' },
    ])
      expect(selects({ vary, headers: [] }, request(other, 'a=1'))).toBe(false)
    expect(selects({ vary, headers: [] }, request(fields))).toBe(false)
  })
})
