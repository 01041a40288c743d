import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decoded, exchange, untilHit } from '../helpers/exchange.ts'
import type { SeenRequest } from '../helpers/origin.ts'
import { speak } from '../http/front/wire.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

/** Request fields that some shops, frameworks, gateways or proxies are known to use. */
const names = [
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-For',
  'X-Forwarded-Scheme',
  'X-Forwarded-Server',
  'X-Forwarded-Path',
  'X-Forwarded-SSL',
  'Forwarded',
  'X-Host',
  'X-Original-Host',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-HTTP-Host-Override',
  'X-Real-IP',
  'True-Client-IP',
  'Client-IP',
  'CF-Connecting-IP',
  'X-Client-IP',
  'X-Scheme',
  'Front-End-Https',
  'Proxy',
  'X_Forwarded_Host',
  'X_Original_URL',
  'X-HTTP-Method-Override',
  'X-Method-Override',
  'X-Wap-Profile',
  'X-Backend',
  'X-Debug',
  'X-Api-Version',
  'X-Currency',
  'X-Requested-With',
  'X-CSRF-Token',
  'sw-language-id',
  'User-Agent',
  'Accept',
  'Accept-Language',
  'Accept-Charset',
  'Origin',
  'Referer',
  'Cookie',
  'Via',
  'From',
  'DNT',
  'Sec-Fetch-Dest',
  'Sec-CH-UA',
  'Pragma',
  'Cache-Control',
  'TE',
  'Host-Override',
  'Base-Url',
  'Destination',
  'Profile',
  'Foo',
  'Accept_Language',
]

const html = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
/** Ways in which careless shops reflect request fields, apart from those that every request has. */
const said = (request: SeenRequest) =>
  request.rawHeaders
    .filter(
      ([name]) =>
        !/^(host|connection|via|x-forwarded-(for|host|proto|port)|accept-encoding)$/i.test(name) || /evil/.test(name),
    )
    .map(([, value]) => value)
    .join(' ')

const reflections: Record<string, (request: SeenRequest) => ReturnType<typeof page> & { status?: number }> = {
  'in the body': (request) => page(`said ${request.rawHeaders.map(([, value]) => value).join(' ')}`),
  'escaped in the body': (request) => page(`said ${html(request.rawHeaders.map(([, value]) => value).join(' '))}`),
  'escaped by name in the body': (request) =>
    page(
      `said ${said(request).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#039;')}`,
    ),
  'in a URL in the body': (request) =>
    page(`said ${request.rawHeaders.map(([, value]) => encodeURIComponent(value)).join(' ')}`),
  'as JSON in the body': (request) => page(`said ${JSON.stringify(request.rawHeaders).replaceAll('/', '\\/')}`),
  'in lower case': (request) => page(`said ${said(request).toLowerCase()}`),
  'in a response field': (request) => page('said', { 'x-said': said(request).replace(/[^\x20-\x7e]/g, '') }),
  'in Location': (request) => ({
    ...page('moved', { location: `http://shop.example/?${said(request).replace(/[^\x21-\x7e]/g, '')}` }),
    status: 301,
  }),
  'its host in a link': (request) =>
    page(
      `<base href="//${request.rawHeaders.map(([, value]) => /[\w.-]*evil[\w.-]*/i.exec(value)?.[0] ?? '').join('')}/">`,
    ),
}

const values = ['evil-canary.example', '"><script>evil-canary()</script>', "https://evil-canary.example:8443/a?b='c'&d"]

/** The fields that a browser sends by default. */
const clean = {
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language': 'de-DE,de;q=0.9',
  'Accept-Encoding': 'gzip',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'none',
  'Upgrade-Insecure-Requests': '1',
}

describe.each(Object.entries(reflections))('a shop that reflects request fields %s', (where, reflect) => {
  it.each(names)('%s', async (name) => {
    const path = `/${where.replaceAll(' ', '-')}/${name}`
    shop.origin.on(path, (request) => reflect(request))
    for (const [index, value] of values.entries()) {
      const target = `${path}?${index}`
      const poisoned = { ...clean, ...(name === 'Cookie' ? { Cookie: `a=b; theme=${value}; c=d` } : { [name]: value }) }
      await exchange(shop.daemon.url + target, { headers: poisoned })
      const next = await exchange(shop.daemon.url + target)
      expect(next.status).not.toBe(502)
      expect(`${JSON.stringify([...next.headers])}${decoded(next)}`).not.toMatch(/evil/i)
    }
  })
})

it('a page is stored even if it contains words that browsers also send', async () => {
  shop.origin.on(
    '/ordinary',
    page('document navigate none text/html prefetch Linux; <a href="http://HOST/">'.replace('HOST', shop.host)),
  )
  const headers = {
    ...clean,
    Origin: shop.daemon.url,
    'Sec-CH-UA-Platform': '"Linux"',
    'Sec-CH-UA-Mobile': '?0',
    'Sec-Purpose': 'prefetch',
    'X-Request-Id': '0190c0de-0000-7000-8000-000000000001',
    DNT: '1',
    Priority: 'u=0, i',
  }
  await exchange(`${shop.daemon.url}/ordinary`, { headers })
  await untilHit(() => exchange(`${shop.daemon.url}/ordinary`, { headers }))
})

describe('other ways to fill the cache than a plain miss', () => {
  const echo = (request: SeenRequest) => page(`said ${request.headers['foo'] ?? 'nothing'}`)

  it("a coalesced visitor does not receive another visitor's data", async () => {
    let release = () => {}
    shop.origin.on('/waited', async (request) => {
      if (request.headers['foo'] !== undefined) await new Promise<void>((resolve) => (release = resolve))
      return echo(request)
    })
    const first = exchange(`${shop.daemon.url}/waited`, { headers: { Foo: 'evil-canary' } })
    await until(() => shop.origin.hits('/waited') === 1)
    const others = Array.from({ length: 5 }, () => shop.ask('/waited'))
    // Once a later request is answered, these have been received.
    await shop.ask('/later')
    release()
    expect(String(decoded(await first))).toContain('evil-canary')
    for (const other of await Promise.all(others)) expect(String(decoded(other))).toContain('said nothing')
  })

  it('a background revalidation carries no header of the visitor that triggered it', async () => {
    const stale = { 'cache-control': 'public, max-age=0, stale-while-revalidate=600' }
    shop.origin.on('/background', (request) => ({
      ...echo(request),
      headers: { 'content-type': 'text/html', ...stale },
    }))
    await shop.ask('/background')
    await exchange(`${shop.daemon.url}/background`, { headers: { Foo: 'evil-canary' } })
    await until(() => shop.origin.hits('/background') >= 2)
    for (let count = 0; count < 5; count++)
      expect(String(decoded(await shop.ask('/background')))).toContain('said nothing')
  })

  it('a 304 that reflects a request field does not change the page', async () => {
    shop.origin.on('/validated', (request) => {
      const headers = {
        etag: '"v"',
        'cache-control': 'public, max-age=0',
        'x-said': request.headers['foo'] ?? 'nothing',
      }
      return request.headers['if-none-match'] === '"v"' ? { status: 304, headers } : { headers, body: 'validated' }
    })
    await shop.ask('/validated')
    await exchange(`${shop.daemon.url}/validated`, { headers: { Foo: 'evil-canary' } })
    shop.origin.on('/validated', () => ({ status: 503 }))
    const { stdout } = await shop.daemon.run('cache:inspect', `${shop.daemon.url}/validated`, '--json')
    expect(stdout).not.toContain('evil-canary')
  })

  it('a field named by Vary is part of the key, and the page is stored', async () => {
    shop.origin.on('/varied', (request) => ({ ...echo(request), headers: { ...page('').headers, vary: 'Foo' } }))
    const evil = { headers: { Foo: 'evil-canary' } }
    await shop.ask('/varied', evil)
    expect(String(decoded(await shop.ask('/varied')))).toContain('said nothing')
    await untilHit(() => shop.ask('/varied', evil))
    await untilHit(() => shop.ask('/varied'))
  })
})

describe('fields that the shop never receives are not part of the key', () => {
  it.each([
    ['a variant cookie', 'Cookie: sw-currency=USD\r\nConnection: close, cookie', { cookie: 'sw-currency=USD' }],
    ['a field of Vary', 'Accept-Language: en\r\nConnection: close, Accept-Language', { 'accept-language': 'en' }],
    ['a cookie with a comma', 'Cookie: sw-currency=USD,evil\r\nConnection: close', { cookie: 'sw-currency=USD' }],
    [
      'a cookie with a space after its name',
      'Cookie: sw-currency =USD\r\nConnection: close',
      { cookie: 'sw-currency=USD' },
    ],
    [
      'a cookie twice',
      'Cookie: sw-currency=USD\r\nCookie: sw-currency=EUR\r\nConnection: close',
      { cookie: 'sw-currency=USD' },
    ],
    ['a language with a no-break space', 'Accept-Language: en\xa0\r\nConnection: close', { 'accept-language': 'en' }],
  ])('%s', async (name, fields, headers) => {
    const path = `/${name.replaceAll(' ', '-')}`
    // Like PHP: the first cookie of a name counts, spaces belong to the value, only semicolons separate.
    const currency = (cookie = '') =>
      cookie
        .split(';')
        .map((part) => part.replace(/^ +/, '').split('='))
        .find(([key]) => key === 'sw-currency')?.[1]
    shop.origin.on(path, (request) =>
      page(
        `in ${currency(request.headers['cookie']) === 'USD' ? 'USD' : 'EUR'} and ${request.headers['accept-language'] === 'en' ? 'English' : 'German'}`,
        { vary: 'Accept-Language' },
      ),
    )
    await speak(shop.port, `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n${fields}\r\n\r\n`)
    const next = String(decoded(await shop.ask(path, { headers })))
    expect(next).toContain('cookie' in headers ? 'in USD' : 'and English')
    expect(String(decoded(await shop.ask(path)))).toContain('in EUR and German')
  })
})
