import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decoded, exchange, isHit, untilHit } from '../helpers/exchange.ts'
import { speak } from '../http/front/wire.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const textOf = async (path: string, headers: Record<string, string> = {}) =>
  String(decoded(await shop.ask(path, { headers })))

describe('X-Forwarded fields', () => {
  const spoken = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'shop.example', 'X-Forwarded-For': '203.0.113.7' }

  it('from untrusted clients are replaced', async () => {
    await shop.ask('/untrusted', { headers: { ...spoken, Forwarded: 'host=evil.example' } })
    const { headers } = shop.origin.last('/untrusted')
    expect(headers).toMatchObject({
      host: shop.host,
      'x-forwarded-host': shop.host,
      'x-forwarded-proto': 'http',
      'x-forwarded-port': String(shop.port),
      'x-forwarded-for': '127.0.0.1',
    })
    expect(headers['forwarded']).toBeUndefined()
  })

  it('from a trusted proxy determine the page and the channel', async () => {
    const config = (origin: string) => ({
      trustedProxies: ['127.0.0.1'],
      salesChannels: [
        { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: 'https://shop.example', origin },
      ],
    })
    const trusted = await openShop({ args: [], config: config(shop.origin.url) })
    try {
      await trusted.ask('/trusted', { headers: spoken })
      expect(shop.origin.last('/trusted').headers).toMatchObject({
        host: 'shop.example',
        'x-forwarded-host': 'shop.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-port': '443',
        'x-forwarded-for': '203.0.113.7, 127.0.0.1',
      })
      await untilHit(() => trusted.ask('/trusted', { headers: spoken }))
      // The last element counts: the nearest proxy added it after any value that the visitor sent.
      const forged = { ...spoken, 'X-Forwarded-Host': 'evil.example, shop.example', 'X-Forwarded-Proto': 'http, https' }
      expect(isHit(await trusted.ask('/trusted', { headers: forged }))).toBe(true)
      expect(
        (await trusted.ask('/trusted', { headers: { ...spoken, 'X-Forwarded-Host': 'shop.example, evil.example' } }))
          .status,
      ).toBe(421)
      expect((await trusted.ask('/trusted', { headers: { ...spoken, 'X-Forwarded-Host': 'a b' } })).status).toBe(400)
      expect(
        (await trusted.ask('/trusted', { headers: { ...spoken, 'X-Forwarded-Proto': 'javascript' } })).status,
      ).toBe(400)
    } finally {
      await trusted.close()
    }
  })
})

describe('a GET with a body or a method override', () => {
  it('its body does not reach the shop, and the answer is not stored', async () => {
    shop.origin.on('/fat', async (request, _, incoming) => {
      let size = 0
      for await (const chunk of incoming) size += (chunk as Buffer).length
      return page(
        `body of ${size} and ${request.headers['content-length'] ?? request.headers['transfer-encoding'] ?? 'nothing'}`,
      )
    })
    for (const fields of ['Content-Length: 9', 'Transfer-Encoding: chunked']) {
      const body = fields.startsWith('C') ? 'evil=true' : '9\r\nevil=true\r\n0\r\n\r\n'
      const { answers } = await speak(
        shop.port,
        `GET /fat HTTP/1.1\r\nHost: ${shop.host}\r\n${fields}\r\nConnection: close\r\n\r\n${body}`,
      )
      expect(answers[0]!.body).toContain('body of 0 and nothing')
    }
    await shop.ask('/fat')
    expect(shop.origin.hits('/fat')).toBe(3)
  })

  it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X_HTTP_Method_Override'])(
    '%s is removed, and the answer is not stored',
    async (name) => {
      const path = `/override-${name}`
      shop.origin.on(path, (request) =>
        page(Object.keys(request.headers).some((key) => /override|http.method/.test(key)) ? 'deleted' : 'kept'),
      )
      expect(await textOf(path, { [name]: 'DELETE' })).toContain('kept')
      expect(await textOf(path)).toContain('kept')
    },
  )
})

describe('query parameters', () => {
  const echo = () => shop.origin.otherwise((request) => page(`asked for ${decodeURIComponent(request.url)}`))

  it.each([
    'utm_source',
    'utm_anything',
    'UTM%5fsource'.toLowerCase(),
    'gclid',
    'fbclid',
    'msclkid',
    'mc_cid',
    '%75tm_source',
    'utm_source[]',
    '_ga',
  ])('%s does not reach the shop if the answer may be stored', async (name) => {
    echo()
    const path = `/marketing-${encodeURIComponent(name)}`
    expect(
      await textOf(`${path}?${name}=<script>evil</script>`.replaceAll('<', '%3C').replaceAll('>', '%3E')),
    ).not.toContain('evil')
    expect(await textOf(path)).not.toContain('evil')
    expect(shop.origin.hits(path)).toBe(1)
    expect(shop.origin.last(path).url).toBe(path)
  })

  const same: Record<string, [sent: string[], canonical: string]> = {
    'the order': [['?b=2&a=1', '?a=1&b=2', '?a=1&&b=2&', '?utm_x=1&b=2&a=1'], '?a=1&b=2'],
    'unnecessary escapes': [['?q=%41%7e', '?q=A~', '?%71=A%7E'], '?q=A~'],
    'the case of escapes': [['?q=%c3%a4', '?q=%C3%A4', '?q=%c3%A4'], '?q=%C3%A4'],
    'no parameter at all': [['?', '', '?utm_source=x', '?&&'], ''],
  }
  it.each(Object.entries(same))(
    '%s does not change the page, and the shop receives the canonical form',
    async (name, [sent, canonical]) => {
      echo()
      const path = `/canonical-${name.replaceAll(' ', '-')}`
      for (const query of sent) await shop.ask(path + query)
      expect(shop.origin.requests.filter((request) => request.path === path).map((request) => request.url)).toEqual([
        path + canonical,
      ])
    },
  )

  it.each([
    ['?a=1&a=2', '?a=2&a=1'],
    ['?a', '?a='],
    ['?q=a%26b', '?q=a&b'],
    ['?q=a%2Bb', '?q=a+b'],
    ['?Q=1', '?q=1'],
    ['?a=1;b=2', '?a=1&b=2'],
    ['?a[]=1&a[]=2', '?a[]=2&a[]=1'],
    ['?utm.source=x', '?'],
  ])('%s and %s are two pages', async (one, other) => {
    echo()
    const path = `/two-${Buffer.from(one).toString('hex')}`
    await shop.ask(path + one)
    await shop.ask(path + other)
    expect(shop.origin.hits(path)).toBe(2)
  })
})

describe('a partial or empty answer is never served as the whole page', () => {
  const whole = 'the whole of the page, 0123456789'
  const first: Record<string, { method?: string; headers?: Record<string, string> }> = {
    HEAD: { method: 'HEAD' },
    'a range': { headers: { Range: 'bytes=4-8' } },
    'a suffix': { headers: { Range: 'bytes=-3' } },
    'several ranges': { headers: { Range: 'bytes=0-1,4-5' } },
    'a range past the end': { headers: { Range: 'bytes=900-' } },
    'If-None-Match': { headers: { 'If-None-Match': '"v"' } },
    'If-None-Match: *': { headers: { 'If-None-Match': '*' } },
    'If-Modified-Since': { headers: { 'If-Modified-Since': 'Fri, 01 Jan 2027 00:00:00 GMT' } },
    'If-Match': { headers: { 'If-Match': '"other"' } },
    'If-Range': { headers: { 'If-Range': '"v"', Range: 'bytes=0-3' } },
  }
  it.each(Object.entries(first))('after a first request with %s', async (name, how) => {
    const path = `/whole-${name.replace(/\W+/g, '-')}`
    shop.origin.on(path, (request) => {
      const headers = { ...page('').headers, etag: '"v"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }
      if (request.headers['if-match'] === '"other"') return { status: 412, headers }
      if (request.headers['if-none-match'] !== undefined || request.headers['if-modified-since'] !== undefined)
        return { status: 304, headers }
      const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers['range'] ?? '')
      if (range === null) return { headers, body: whole }
      const start = range[1] === '' ? whole.length - Number(range[2]) : Number(range[1])
      const end = range[1] === '' || range[2] === '' ? whole.length - 1 : Number(range[2])
      if (start >= whole.length)
        return { status: 416, headers: { ...headers, 'content-range': `bytes */${whole.length}` } }
      return {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${start}-${end}/${whole.length}` },
        body: whole.slice(start, end + 1),
      }
    })
    await shop.ask(path, how)
    for (let count = 0; count < 2; count++) {
      const next = await shop.ask(path)
      expect({ status: next.status, body: String(decoded(next)) }).toEqual({ status: 200, body: whole })
    }
  })
})

describe('an error caused by one visitor is not served to others', () => {
  const causes: Record<string, Record<string, string>> = {
    'an unknown extension field': { 'X-Attack': 'yes' },
    'a very long field': { Foo: 'a'.repeat(3000) },
    'many fields': Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`A-${index}`, 'v'.repeat(50)])),
    'bytes beyond ASCII': { Foo: 'caf\xe9' },
    'an unknown type in Accept': { Accept: 'text/evil' },
    'a method override': { 'X-HTTP-Method-Override': 'PUT' },
    'an X-Forwarded field': { 'X-Forwarded-Port': 'abc' },
    'a range': { Range: 'bytes=5-2' },
    'a malformed language': { 'Accept-Language': '%%%' },
  }
  const usual = new Set([
    'host',
    'connection',
    'via',
    'accept-encoding',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-port',
    'x-forwarded-proto',
  ])
  it.each(Object.entries(causes))('%s', async (name, headers) => {
    for (const status of [400, 403, 406, 413, 416, 431, 500, 501, 502]) {
      const path = `/error-${name.replaceAll(' ', '-')}-${status}`
      shop.origin.on(path, (request) => ({
        ...page('of the shop'),
        status: Object.keys(request.headers).every((key) => usual.has(key)) ? 200 : status,
      }))
      await exchange(shop.daemon.url + path, { headers })
      expect((await shop.ask(path)).status).toBe(200)
    }
  })
})

describe('web cache deception: a path that looks static does not make a page storable', () => {
  it.each([
    '/account/x.css',
    '/account;x.css',
    '/account%2Fx.css',
    '/account%252Fx.css',
    '/static/../account',
    '/static/..%2faccount',
    '/static/..%5caccount',
    '/ACCOUNT/x.js',
    '/account/.css',
    '/account%00.css',
    '/account%0a.css',
    '/account%3f.css',
    '/account%23.css',
    '/account/%2e/x.png',
    '//account/x.css',
    '/static/%2e%2e/account/x.css',
    '/account/..;/account.css',
    '/my%2dpage.css',
    '/wishlist/x.css',
  ])('%s', async (path) => {
    let visitor = 0
    shop.origin.otherwise(() => ({
      headers: { 'content-type': 'text/html', 'cache-control': 'private, no-store' },
      body: `of visitor ${++visitor}`,
    }))
    const first = await speak(
      shop.port,
      `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\nCookie: session=one\r\nConnection: close\r\n\r\n`,
    )
    const second = await speak(shop.port, `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`)
    expect([first, second].map(({ answers }) => answers[0]!.body)).toEqual(['of visitor 1', 'of visitor 2'])
  })

  it.each([
    '/account/x.css',
    '/account;x.css',
    '/account%2Fx.css',
    '/static/../account',
    '/ACCOUNT/x.js',
    '/checkout/%2e/x',
    '/static/%2e%2e/account/x.css',
  ])('%s is never cached, even if the shop does not forbid it', async (path) => {
    let visitor = 0
    shop.origin.otherwise(() => page(`of visitor ${++visitor}`))
    for (const number of [1, 2]) {
      const { answers } = await speak(
        shop.port,
        `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`,
      )
      expect(answers[0]!.body).toContain(`of visitor ${number}`)
    }
  })
})
