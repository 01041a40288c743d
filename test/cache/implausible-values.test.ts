import { describe, expect, it } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { toChannel } from '../../src/cache/channel.ts'
import { storableHeaders } from '../../src/cache/forward.ts'
import { isHit, toVisit } from './site.ts'
import { until } from '../helpers/until.ts'
import { browser, html, open, shared } from './negotiating-shop.ts'

/** A shop that reflects the matching part of a request field in its page. */
const reflects =
  (name: string, part: RegExp) =>
  (request: OriginRequest): Reply => ({
    fields: html,
    body: `page ${part.exec(request.fields.get(name.toLowerCase()) ?? '')?.[0] ?? ''}`,
  })

describe('a reflected part of a request field is not stored', () => {
  it.each<[string, string, RegExp]>([
    ['Accept-Language', 'xx-<script>alert(1)</script>, de', /<script.*script>/],
    ['Accept-Language', 'de, evilcanary;q=0.5', /evil\w+/],
    ['Accept-Language', 'xx-evil, de', /evil/],
    ['Accept-Language', 'de;evil=1', /evil/],
    ['Origin', 'https://evil-canary.example', /evil-canary/],
    ['Origin', 'https://evil', /evil/],
    ['Origin', 'https://e.vil', /e\.vil/],
    ['Origin', 'evil://shop.example', /evil/],
    ['Priority', 'u=1, evil', /evil/],
    ['Priority', '"><b>', /"><b>/],
    ['Sec-CH-UA', '"Evil";v="1"', /Evil/],
    ['Sec-CH-UA-Model', '"<b>"', /<b>/],
    ['Sec-CH-UA-Platform', '"Evil"', /Evil/],
    ['Sec-CH-Viewport-Width', '1"evil', /evil/],
    ['Sec-Fetch-Dest', 'evil', /evil/],
    ['Sec-Purpose', 'evil', /evil/],
    ['From', 'evil@shop.example', /evil/],
    ['Via', '1.1 evil', /evil/],
    ['Via', '1.1 proxy (evil)', /evil/],
    ['DNT', 'evil', /evil/],
    ['Save-Data', 'evil', /evil/],
    ['Upgrade-Insecure-Requests', '1;evil', /evil/],
    ['Accept-Charset', 'utf-8, evil', /evil/],
    ['Accept', 'text/evil, text/html', /evil/],
    ['Accept', 'text/html;evil=1', /evil/],
    ['User-Agent', 'Mozilla/5.0 evilcanary', /evil\w+/],
    ['User-Agent', 'Mozilla/5.0 (evil; Linux)', /evil/],
    ['User-Agent', 'Mozilla/5.0 evil/1', /evil/],
    ['User-Agent', "Mozilla/5.0 '-alert(1)-'", /'-alert/],
    ['User-Agent', 'a%3Cb%3E', /%3C/],
    ['Foo', '<b>', /<b>/],
    ['Foo', 'plain, evil', /evil/],
    ['Foo', 'a=evil', /evil/],
    ['Foo', '%253Cevil%253E', /evil/],
    ['Foo', '&lt;evil&gt;', /evil/],
    ['Foo', 'caf\xe9', /caf/],
    ['Foo', 'x" onload="y', /x"/],
    ['Foo', 'javascript:evil()', /java/],
    ['Cookie', 'theme=%3Cscript%3E', /script/],
    ['Cookie', 'theme=%253Cscript%253E', /script/],
    ['Cookie', 'theme=<b>', /<b>/],
  ])('%s: %s', async (name, value, part) => {
    const { visit } = await open(reflects(name, part))
    await visit({ fields: { ...browser, [name]: value } })
    expect((await visit()).text).toBe('page ')
    expect((await visit()).text).toBe('page ')
    expect(isHit(await visit())).toBe(true)
  })

  it('a repeated field, and a field name in another case', async () => {
    const { visit } = await open(reflects('accept-language', /evil/))
    await visit({ fields: { 'Accept-Language': ['de', 'xx-evil'] } })
    await visit({ fields: { 'ACCEPT-language': 'xx-evil' } })
    expect((await visit()).text).toBe('page ')
  })
})

it.each<[string, Record<string, string>]>([
  ['Chrome', browser],
  [
    'Firefox',
    {
      'User-Agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0',
      Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'Accept-Language': 'de,en-US;q=0.7,en;q=0.3',
      DNT: '1',
      'Sec-GPC': '1',
      Priority: 'u=0, i',
      TE: 'trailers',
    },
  ],
  [
    'Safari',
    {
      'User-Agent':
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'Accept-Language': 'de-DE,de;q=0.9',
      Priority: 'u=0, i',
    },
  ],
  [
    'a browser behind Cloudflare',
    {
      ...browser,
      'CF-Ray': '8c0-FRA',
      'X-Varnish': '32770',
      'X-Vinyl': '32770',
      'CF-Visitor': '{"scheme":"https"}',
      'CF-IPCountry': 'DE',
      'CDN-Loop': 'cloudflare; loops=1',
      'CF-Connecting-IP': '203.0.113.7',
    },
  ],
  [
    'a traced browser',
    {
      ...browser,
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      baggage: 'a=<b>',
      'sentry-trace': 'abc',
    },
  ],
  [
    'a browser with consent cookies',
    { ...browser, Cookie: 'consent={"stats":true,"marketing":false}; _ga=GA1.1.123.456; cookie-preference=1' },
  ],
  ['a client without fields', {}],
])('%s fills the cache, although the page contains words that browsers send', async (_, fields) => {
  const { visit } = await open(() => ({
    fields: html,
    body: '<html lang="de">document navigate Linux https scheme DE cors Chrome stats marketing</html>',
  }))
  await visit({ fields })
  expect(isHit(await visit({ fields }))).toBe(true)
  expect(isHit(await visit())).toBe(true)
})

it.each<[string, Record<string, string>]>([
  ['an unusual Accept', { Accept: 'application/json' }],
  ['markup', { Foo: '<b>' }],
  ['another Origin', { Origin: 'https://other.example' }],
  ['a field that requests a fragment', { 'HX-Request': 'true' }],
])('%s does not disable coalescing for other visitors', async (_, fields) => {
  const { site, visit } = await open(() => ({ fields: { ...shared, 'Content-Type': 'application/json' }, body: '{}' }))
  await visit({ fields })
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  site.answers(async () => {
    await held
    return { fields: html, body: 'page' }
  })
  const others = Array.from({ length: 5 }, () => visit())
  await until(() => expect(site.origin.requests.length).toBe(2))
  release()
  for (const other of others) expect((await other).text).toBe('page')
  expect(site.origin.requests).toHaveLength(2)
})

it('only addresses in the X-Forwarded-For of a trusted proxy reach the shop', () => {
  const channel = toChannel({ id: 'c1', name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1' })
  const forwardedFor = '<script>, evil.example, 203.0.113.7:80, 2001:db8::1'
  const visit = { ...toVisit('/'), remoteAddress: '192.0.2.7', forwardedFor }
  expect(storableHeaders(visit, channel, new Map()).headers).toContainEqual([
    'x-forwarded-for',
    '203.0.113.7:80, 2001:db8::1, 192.0.2.7',
  ])
})

describe('Range and If-Range of a request whose response may be stored', () => {
  const expectNoReflection = async (fields: Record<string, string>) => {
    const { visit } = await open((request) => ({
      fields: html,
      body: `page ${request.fields.get('range') ?? ''} ${request.fields.get('if-range') ?? ''}`,
    }))
    await visit({ fields })
    expect((await visit()).text).not.toMatch(/evil|script/)
  }

  it.each<Record<string, string>>([
    { Range: 'evil=0-1' },
    { Range: 'bytes=0-3,evil' },
    { Range: 'bytes=<script>alert(1)</script>' },
    { Range: 'bytes=0-3;evil' },
    { Range: 'bytes=0-3', 'If-Range': '"<script>alert(1)</script>"' },
    { Range: 'bytes=0-3', 'If-Range': 'evil' },
    { Range: 'bytes=0-3', 'If-Range': 'W/"evil"' },
    { Range: 'bytes=0-3', 'If-Range': 'Thu, 15 Jan 2026 12:00:00 evil' },
  ])('are forwarded only in their usual form: %j', expectNoReflection)

  it.each<Record<string, string>>([
    { Range: 'bytes=0-3' },
    { Range: 'bytes=-5' },
    { Range: 'bytes=5-' },
    { Range: 'bytes=0-3, 7-9' },
    { Range: 'bytes=0-3', 'If-Range': '"a1-b2:3"' },
    { Range: 'bytes=0-3', 'If-Range': 'Thu, 15 Jan 2026 12:00:00 GMT' },
  ])('reach the shop unchanged: %j', async (fields) => {
    const { site, visit } = await open(() => ({ fields: html, body: 'page' }))
    await visit({ fields })
    const [request] = site.origin.requests
    for (const [name, value] of Object.entries(fields)) expect(request!.fields.get(name.toLowerCase())).toBe(value)
  })
})
