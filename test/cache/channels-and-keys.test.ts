import { describe, expect, it } from 'vitest'
import { clientStates, cookieBypass, pathBypass } from '../../src/cache/bypass.ts'
import { normaliseHost, toChannel } from '../../src/cache/channel.ts'
import { Channels } from '../../src/cache/channels.ts'
import { withAuthorization } from '../../src/cache/forward.ts'
import { parseCookies } from '../../src/cache/fields.ts'
import { canonicalUrl, cookiesForShop, primaryKey, toVariantRules, unkeyedCookies } from '../../src/cache/key.ts'

const channel = (id: string, url: string) => toChannel({ id, name: id, url, origin: 'http://127.0.0.1:8000/ignored' })

describe('a Host', () => {
  it.each([
    ['Shop.Example', 'http', 'shop.example'],
    ['shop.example:80', 'http', 'shop.example'],
    ['shop.example:443', 'https', 'shop.example'],
    ['shop.example:80', 'https', 'shop.example:80'],
    ['shop.example:08080', 'http', 'shop.example:8080'],
    ['shop.example.', 'http', 'shop.example'],
    ['[::1]:8080', 'http', '[::1]:8080'],
    ['127.0.0.1', 'http', '127.0.0.1'],
    ['my_shop.example', 'http', 'my_shop.example'],
  ])('%s over %s is %s', (host, scheme, normal) => {
    expect(normaliseHost(host, scheme)).toBe(normal)
  })

  it.each([
    '',
    ' ',
    'a b',
    'a/x',
    'a@b',
    'a:',
    'a:x',
    'a:0',
    'a:65536',
    'a:99999',
    '.a',
    '-',
    'a,b',
    'a\tb',
    'a?',
    'a#',
    'é',
    '[x]',
    'a'.repeat(256),
  ])('%j is invalid', (host) => {
    expect(normaliseHost(host, 'http')).toBeNull()
  })
})

describe('the channel of a request', () => {
  const channels = new Channels(
    [
      channel('root', 'http://shop.example'),
      channel('de', 'http://shop.example/de/'),
      channel('deep', 'http://shop.example/de/b2b'),
      channel('port', 'http://shop.example:8080'),
      channel('secure', 'https://shop.example'),
      channel('other', 'http://only.example/shop'),
    ],
    new Map([
      ['localhost:9000', 'shop.example'],
      ['only.example', 'shop.example'],
    ]),
  )

  it.each([
    ['http', 'shop.example', '/', 'root'],
    ['http', 'shop.example', '/a/b', 'root'],
    ['http', 'shop.example', '/de', 'de'],
    ['http', 'shop.example', '/de/', 'de'],
    ['http', 'shop.example', '/de/a', 'de'],
    ['http', 'shop.example', '/design', 'root'],
    ['http', 'shop.example', '/DE/', 'root'],
    ['http', 'shop.example', '/de/b2b', 'deep'],
    ['http', 'shop.example', '/de/b2bx', 'de'],
    ['http', 'shop.example', '/x/de/', 'root'],
    ['http', 'shop.example:8080', '/de/', 'port'],
    ['https', 'shop.example', '/de/', 'secure'],
    ['http', 'localhost:9000', '/de/a', 'de'],
    ['http', 'only.example', '/shop/a', 'other'],
    ['http', 'only.example', '/', undefined],
    ['http', 'shop.example:81', '/', undefined],
    ['https', 'shop.example:8080', '/', undefined],
    ['http', 'www.shop.example', '/', undefined],
    ['http', 'evil.example', '/', undefined],
  ])('%s://%s%s is %s', (scheme, host, path, id) => {
    expect(channels.find(scheme, host, path)?.id).toBe(id)
  })

  it('is normalised: no trailing slash, no path in the origin', () => {
    expect(channel('a', 'HTTP://Shop.Example:80/de//')).toMatchObject({
      scheme: 'http',
      host: 'shop.example',
      path: '/de',
      url: 'http://shop.example/de',
      origin: 'http://127.0.0.1:8000',
    })
  })

  it('is located by an absolute URL', () => {
    expect(channels.locate('http://shop.example/de/a?b=1#c')).toMatchObject({
      channel: { id: 'de' },
      target: '/de/a?b=1',
    })
    for (const url of [
      'http://evil.example/',
      'http://user@shop.example/',
      '/de/a',
      'shop.example',
      'ftp://shop.example/',
      'http://shop.example@evil.example/',
    ])
      expect(channels.locate(url)).toBeNull()
  })
})

describe('the key of a page', () => {
  const de = channel('de', 'http://shop.example/de')
  const url = canonicalUrl(de, { path: '/de/a', query: '?b=1' })
  const rules = toVariantRules({ cookies: ['sw-cache-hash', 'sw-currency'], headers: ['X-Country'] })
  const key = (cookie: string, headers: Record<string, string> = {}) =>
    primaryKey(de, url, rules, parseCookies(cookie), (name) => headers[name] ?? null)

  it('has the channel, the URL and the variants of the request', () => {
    expect(url).toBe('http://shop.example/de/a?b=1')
    expect(key('')).toBe('de http://shop.example/de/a?b=1')
    expect(key('sw-currency=EUR; sw-cache-hash=x', { 'x-country': 'AT' })).toBe(
      'de http://shop.example/de/a?b=1\ncookie sw-cache-hash=x\ncookie sw-currency=EUR\nheader x-country=AT',
    )
  })

  it('ignores the order of cookies, other cookies and empty values', () => {
    expect(key('a=1; sw-cache-hash=x; sw-currency=EUR')).toBe(key('sw-currency=EUR; sw-cache-hash=x; b=2'))
    expect(key('sw-currency=')).toBe(key(''))
  })

  it('a value cannot imitate another variant', () => {
    const keys = [
      key('sw-currency=EUR'),
      key('sw-cache-hash=EUR'),
      key('', { 'x-country': 'EUR' }),
      key('sw-cache-hash=x sw-currency=EUR'),
      key('sw-cache-hash=x; sw-currency=EUR'),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('is null for a variant value that is too long', () => {
    expect(key(`sw-cache-hash=${'x'.repeat(256)}`)).not.toBeNull()
    expect(key(`sw-cache-hash=${'x'.repeat(257)}`)).toBeNull()
    expect(key('', { 'x-country': 'x'.repeat(257) })).toBeNull()
  })

  it('has the first of alternative cookies, and the shop gets only that one', () => {
    const either = toVariantRules({ cookies: ['sw-cache-hash | sw-currency', 'theme'], headers: [] })
    const keyOf = (cookie: string) => primaryKey(de, url, either, parseCookies(cookie), () => null)
    const sent = (cookie: string) => [...cookiesForShop(either, parseCookies(cookie)).keys()]
    expect(keyOf('sw-currency=EUR')).toBe(`de ${url}\ncookie sw-currency=EUR`)
    expect(keyOf('sw-currency=EUR; theme=a; sw-cache-hash=x')).toBe(`de ${url}\ncookie sw-cache-hash=x\ncookie theme=a`)
    expect(keyOf('sw-cache-hash=; sw-currency=EUR')).toBe(keyOf('sw-currency=EUR'))
    expect(sent('sw-currency=EUR; a=1; sw-cache-hash=x')).toEqual(['a', 'sw-cache-hash'])
    expect(sent('sw-currency=EUR; a=1')).toEqual(['sw-currency', 'a'])
  })

  it('sorts the cookies outside the key', () => {
    expect(unkeyedCookies(parseCookies('b=2; sw-currency=EUR; a=1'), rules.names)).toBe('a=1; b=2')
    expect(unkeyedCookies(parseCookies('sw-currency=EUR'), rules.names)).toBeNull()
  })
})

describe('bypass', () => {
  const bypasses = pathBypass(['/checkout', '/account/', '/Admin'])
  it.each([
    '/checkout',
    '/checkout/',
    '/checkout/cart',
    '/CHECKOUT',
    '/%63heckout',
    '/checkout;jsessionid=1',
    '//checkout',
    '/x/../checkout',
    '/x/%2e%2e/checkout',
    '/account',
    '/account/x.css',
    '/account%2Fx.css',
    '/admin',
    '/static/..%2faccount',
  ])('%s goes to the shop', (path) => {
    expect(bypasses(path)).toBe(true)
  })

  it.each(['/', '/checkouts', '/de/checkout', '/my-account', '/accounting', '/check/out'])(
    '%s may be cached',
    (path) => {
      expect(bypasses(path)).toBe(false)
    },
  )

  const cookie = (header: string) => cookieBypass(parseCookies(header), { cookies: ['login', 'session_*'] })
  it.each([
    ['', null],
    ['a=1; sw-cache-hash=abc', null],
    ['login=', 'login'],
    ['Login=1', null],
    ['logins=1', null],
    ['session_=1', 'session_*'],
    ['a=1; session_de=2', 'session_*'],
    ['sw-cache-hash=not-cacheable', 'sw-cache-hash'],
    ['sw-cache-hash=abc; sw-cache-hash=not-cacheable', null],
  ])('cookies %j: %s', (header, name) => {
    const found = cookie(header)
    if (name === 'session_*') expect(found).toMatch(/^session_/)
    else expect(found).toBe(name)
  })

  it.each([
    ['', []],
    ['sw-states=', []],
    ['sw-states=logged-in', ['logged-in']],
    ['sw-states=logged-in%2Ccart-filled', ['logged-in', 'cart-filled']],
    ['sw-states=logged-in%2ccart-filled', ['logged-in', 'cart-filled']],
    ['sw-states=a b,c', ['a', 'b', 'c']],
  ])('client states of %j', (header, states) => {
    expect(clientStates(parseCookies(header))).toEqual(states)
  })
})

it('sends the credentials of the origin URL unless the visitor sends some', () => {
  const channel = toChannel({
    id: 'c',
    name: 'Shop',
    url: 'http://shop.example',
    origin: 'http://preview:pa%20ss@127.0.0.1:8000',
  })
  expect(channel.origin).toBe('http://127.0.0.1:8000')
  expect(withAuthorization([['accept', '*/*']], channel)).toEqual([
    ['accept', '*/*'],
    ['authorization', `Basic ${Buffer.from('preview:pa ss').toString('base64')}`],
  ])
  expect(withAuthorization([['Authorization', 'Bearer x']], channel)).toEqual([['Authorization', 'Bearer x']])
  const open = toChannel({ id: 'c', name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1:8000' })
  expect(withAuthorization([], open)).toEqual([])
})
