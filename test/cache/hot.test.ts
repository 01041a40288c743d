import { describe, expect, it, onTestFinished } from 'vitest'
import type { Fields } from './scripted-origin.ts'
import { openSite } from './site.ts'

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
