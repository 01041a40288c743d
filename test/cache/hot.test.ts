import { stat } from 'node:fs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Fields } from './scripted-origin.ts'
import { shopwareSettings } from './shopware-preset.ts'
import { openSite, type Seen } from './site.ts'

const html = '<p>A page of a shop.</p>'.repeat(100)
const fields = {
  'Cache-Control': 'public, max-age=60',
  'Content-Type': 'text/html',
  ETag: '"a"',
  'Last-Modified': 'Thu, 15 Jan 2026 11:00:00 GMT',
}

const visitors: Fields[] = [
  {},
  { 'Accept-Encoding': 'gzip, deflate, br, zstd' },
  { 'Accept-Encoding': 'gzip' },
  { 'accept-encoding': 'zstd;q=1, br;q=0.2' },
  { 'Accept-Encoding': '*;q=0' },
  { Cookie: 'session=1; consent=all' },
  { Cookie: 'sw-currency=EUR' },
  { Cookie: 'a=1; sw-cache-hash=x; sw-currency=EUR' },
  { Cookie: ['a=1', 'sw-currency=EUR'] },
  { Cookie: 'sw-cache-hash=not-cacheable' },
  { Cookie: 'sw-states=logged-in' },
  { Cookie: 'sw-states=other' },
  { Cookie: 'login=1' },
  { 'Accept-Language': 'de' },
  { 'Accept-Language': 'en, de;q=0.5' },
  { 'Accept-Language': ['en', 'de;q=0.5'] },
  { 'If-None-Match': '"a"' },
  { 'If-None-Match': '"b"' },
  { 'If-None-Match': 'W/"b", W/"a"', 'Accept-Encoding': 'br' },
  { 'If-Modified-Since': 'Thu, 15 Jan 2026 11:30:00 GMT' },
  { Range: 'bytes=0-4' },
  { Range: 'bytes=0-4', 'If-Range': '"b"' },
  { 'Cache-Control': 'no-cache' },
  { 'Cache-Control': 'only-if-cached' },
  { Authorization: 'Basic eDp5' },
  { 'If-Match': '"a"' },
]

describe.each<[string, Record<string, string>]>([
  ['a plain page', fields],
  ['a page that varies by language', { ...fields, Vary: 'Accept-Language', 'Content-Language': 'de' }],
  ['a page that varies by cookie', { ...fields, Vary: 'Cookie' }],
  ['a page with excluded states', { ...fields, 'sw-invalidation-states': 'logged-in' }],
  ['a no-cache page', { ...fields, 'Cache-Control': 'public, max-age=60, no-cache' }],
])('for %s the hot path matches the regular path', (_, given) => {
  it.each([0, 5, 59.9, 60, 90])('%s seconds later', async (seconds) => {
    const site = await openSite({ bypass: { cookies: ['login'], paths: ['/account'] } })
    onTestFinished(() => site.close())
    site.answers((request) =>
      request.fields.has('if-none-match') ? { status: 304, fields: given } : { fields: given, body: html },
    )
    let hot = 0
    for (const target of ['/a', '/a?b=1&a=2', '/a/../a', '/account']) {
      for (const visitor of visitors) {
        // Two visits first, so that both paths serve the same stored page from memory.
        await site.visit(target, { fields: visitor, long: true })
        await site.visit(target, { fields: visitor, long: true })
        site.wait(seconds)
        const short = await site.visit(target, { fields: visitor })
        if (!short.hot) continue
        hot += 1
        const long = await site.visit(target, { fields: visitor, long: true })
        expect(
          { status: short.status, headers: short.headers, body: short.body.toString('base64') },
          JSON.stringify(visitor),
        ).toEqual({ status: long.status, headers: long.headers, body: long.body.toString('base64') })
      }
    }
    // Most visitors get a fresh page from the hot path. Validated pages and pages that vary by cookie take the regular path.
    const mayBeHot = seconds < 60 && !given['Cache-Control']!.includes('no-cache') && given['Vary'] !== 'Cookie'
    if (mayBeHot) expect(hot).toBeGreaterThan(10)
    else expect(hot).toBe(0)
  })
})

describe.each([
  ['a shared page', { ...fields, Expires: 'Thu, 15 Jan 2026 12:00:00 GMT', 'CDN-Cache-Control': 'max-age=60' }],
  ['a page that varies by cookie', { ...fields, Vary: 'Cookie' }],
  ['a page of Shopware 6.8', { ...fields, Vary: 'sw-access-key, sw-language-id, sw-currency-id, sw-cache-hash' }],
  ['a page with excluded states', { ...fields, 'sw-invalidation-states': 'logged-in' }],
] as [string, Record<string, string>][])(
  'with the defaults for Shopware and %s, the hot path matches the regular path',
  (_, given) => {
    const targets = ['/a', '/a?kw=1', '/media/a', '/media/../a', '/store-api/a', '/widgets/checkout/info']
    const more: Fields[] = [{ 'sw-cache-hash': 'x' }, { Cookie: 'sw-states=cart-filled; sw-currency=EUR' }]
    it.each(targets)('at %s', async (target) => {
      const site = await openSite(shopwareSettings({ bypass: { cookies: ['login'] } }))
      onTestFinished(() => site.close())
      site.answers((request) =>
        request.fields.has('if-none-match') ? { status: 304, fields: given } : { fields: given, body: html },
      )
      let hot = 0
      for (const fields of [...visitors, ...more]) {
        await site.visit(target, { fields, long: true })
        await site.visit(target, { fields, long: true })
        const short = await site.visit(target, { fields })
        if (!short.hot) continue
        hot += 1
        const long = await site.visit(target, { fields, long: true })
        const seen = ({ status, headers, body }: Seen) => ({ status, headers, body: body.toString('base64') })
        expect(seen(short), JSON.stringify(fields)).toEqual(seen(long))
      }
      if (given['Vary'] !== 'Cookie') expect(hot).toBeGreaterThan(10)
    })
  },
)

const conditions: Fields[] = [
  {},
  { 'If-None-Match': '"a"' },
  { 'If-None-Match': 'W/"a"' },
  { 'If-None-Match': '"b" , ,W/"a"' },
  { 'If-None-Match': '"b", "c,d"' },
  { 'If-None-Match': '*' },
  { 'If-None-Match': '' },
  { 'If-Modified-Since': 'Thu, 15 Jan 2026 11:00:00 GMT' },
  { 'If-Modified-Since': 'Thursday, 15-Jan-26 11:00:00 GMT' },
  { 'If-Modified-Since': 'Thu Jan 15 11:00:00 2026' },
  { 'If-Modified-Since': 'Thu, 15 Jan 2026 10:59:59 GMT' },
  { 'If-Modified-Since': 'Thu, 15 Jan 2037 11:00:00 GMT' },
  { 'If-Modified-Since': '2026-01-15T11:00:00Z' },
  { 'If-Modified-Since': '' },
  { 'If-None-Match': '"a"', 'If-Modified-Since': 'Thu, 15 Jan 2026 10:59:59 GMT' },
  { 'If-None-Match': '"b"', 'If-Modified-Since': 'Thu, 15 Jan 2026 11:00:00 GMT' },
]
const ranges: Fields[] = [
  'bytes=0-4',
  'bytes=5-',
  'bytes=-3',
  'bytes=-0',
  'bytes=-99999999999999999999',
  'bytes=0-99999999999999999999',
  'bytes=2400-',
  'bytes=99999999999999999999-',
  'bytes=4-3',
  'bytes=0-0,2-3',
  'bytes=-',
  'pages=0-4',
  '',
].map((range) => ({ Range: range }))
const rangeConditions: Fields[] = [
  {},
  { 'If-Range': '"a"' },
  { 'If-Range': 'W/"a"' },
  { 'If-Range': '"b"' },
  { 'If-Range': '*' },
  { 'If-Range': 'Thu, 15 Jan 2026 11:00:00 GMT' },
  { 'If-Range': 'Thu, 15 Jan 2026 11:00:01 GMT' },
  { 'If-Range': 'x' },
]
const codings: Fields[] = [{}, { 'Accept-Encoding': 'gzip' }]
const shapes = [
  ...conditions.flatMap((condition) => [{}, ...ranges].map((range) => ({ ...condition, ...range }))),
  ...ranges.flatMap((range) => rangeConditions.map((condition) => ({ ...range, ...condition }))),
  ...rangeConditions,
]

it.each<[string, Record<string, string>, number, string]>([
  ['a page with both validators', fields, 200, html],
  ['a page without validators', { 'Cache-Control': 'public, max-age=60', 'Content-Type': 'text/html' }, 200, html],
  ['a page that changed within a second', { ...fields, 'Last-Modified': 'Thu, 15 Jan 2026 12:00:00 GMT' }, 200, html],
  ['a page with a weak entity tag', { ...fields, ETag: 'W/"a"' }, 200, html],
  ['an empty page', fields, 200, ''],
  ['an error page', fields, 404, html],
])('every form of %s is the same on both paths', async (_, given, status, body) => {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers({ status, fields: given, body })
  for (const coding of codings) {
    // In memory, in the coding that is stored and in the asked one; ranges are of the identity body.
    await site.visit('/a', { fields: coding, long: true })
    await site.visit('/a', { fields: coding, long: true })
  }
  const seen = new Set<number>()
  const missed: string[] = []
  for (const method of ['GET', 'HEAD']) {
    for (const coding of method === 'GET' ? codings : [{ 'Accept-Encoding': 'zstd' }]) {
      for (const shape of shapes) {
        const visitor = { ...coding, ...shape }
        const short = await site.visit('/a', { method, fields: visitor })
        const long = await site.visit('/a', { method, fields: visitor, long: true })
        const name = `${method} ${JSON.stringify(visitor)}`
        if (!short.hot) missed.push(name)
        seen.add(short.status)
        expect({ name, status: short.status, headers: short.headers, body: short.body.toString('base64') }).toEqual({
          name,
          status: long.status,
          headers: long.headers,
          body: long.body.toString('base64'),
        })
      }
    }
  }
  expect(missed).toEqual([])
  expect(site.origin.requests).toHaveLength(1)
  if (status === 404) expect([...seen]).toEqual([404])
  else expect(seen).toContain(416)
})

it('looks for purges once per turn of the event loop for requests that began before it, whichever phase they are answered in', async () => {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers({ fields, body: html })
  await site.visit('/a')
  const poll = vi.spyOn(site.store, 'poll')
  const visits: Promise<Seen>[] = []
  // The hot path answers before `visit` returns.
  const visit = () => site.visit('/a', { beganEarlier: true })
  const twice = () => visits.push(visit(), visit())
  const polls = await new Promise<number[]>((resolve) => {
    setImmediate(() => {
      twice()
      const before = poll.mock.calls.length
      stat('/', () => {
        twice()
        resolve([before, poll.mock.calls.length])
      })
      // So that it is called in the next turn, before the immediates of that.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    })
  })
  expect(polls).toEqual([1, 2])
  expect((await Promise.all(visits)).every(({ hot }) => hot)).toBe(true)
})

it('looks for purges for each request that may have been sent since the turn began', async () => {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers({ fields, body: html })
  await site.visit('/a')
  const poll = vi.spyOn(site.store, 'poll')
  const visits = [site.visit('/a', { beganEarlier: true }), site.visit('/a'), site.visit('/a')]
  expect(poll).toHaveBeenCalledTimes(3)
  expect((await Promise.all(visits)).every(({ hot }) => hot)).toBe(true)
})

it.each([false, true])(
  'is quiet until the first hit, and again a while after the last one (long: %s)',
  async (long) => {
    const site = await openSite()
    onTestFinished(() => site.close())
    site.answers({ fields, body: html })
    await site.visit('/a', { long })
    expect(site.cache.hot.isQuiet).toBe(true)
    expect(await site.visit('/a', { long })).toMatchObject({ hot: !long, text: expect.stringContaining(html) })
    expect(site.cache.hot.isQuiet).toBe(false)
    site.wait(1)
    expect(site.cache.hot.isQuiet).toBe(true)
  },
)
