import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { speak } from '../http/front/wire.ts'
import { openShop, type Shop } from '../http/api/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const hidden = () => `GET /hidden HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`

/** Sends a request with another one after it. Checks that only the first is answered, and returns its status. */
async function statusOf(request: string): Promise<number> {
  const method = /^\S+/.exec(request)![0]
  const { answers, closed } = await speak(shop.port, request.replaceAll('HOST', shop.host) + hidden(), {
    methods: [method],
  })
  expect(closed).toBe(true)
  expect(answers).toHaveLength(1)
  expect(shop.origin.hits('/hidden')).toBe(0)
  return answers[0]!.status
}

const get = (target: string, fields = 'Host: HOST') => `GET ${target} HTTP/1.1\r\n${fields}\r\n\r\n`
const fields = (count: number, value = 'v') =>
  Array.from({ length: count }, (_, index) => `A-${index}: ${value}`).join('\r\n')

const refused: Record<string, [request: string, status: number]> = {
  'no Host': [get('/', 'Accept: */*'), 400],
  'two Hosts': [get('/', 'Host: HOST\r\nHost: HOST'), 400],
  'two Hosts in two spellings': [get('/', 'Host: HOST\r\nhOsT: evil.example'), 400],
  'an empty Host': [get('/', 'Host:'), 400],
  'user info in Host': [get('/', 'Host: user@HOST'), 400],
  'a path and an at sign in Host': [get('/', 'Host: a/x@evil'), 400],
  'a space in Host': [get('/', 'Host: a b'), 400],
  'a comma in Host': [get('/', 'Host: HOST, evil.example'), 400],
  'a no-break space after Host': [get('/', 'Host: HOST\xa0'), 400],
  'a backslash in Host': [get('/', 'Host: a\\b'), 400],
  'a question mark in Host': [get('/', 'Host: HOST?x'), 400],
  'a fragment in Host': [get('/', 'Host: HOST#x'), 400],
  'a percent escape in Host': [get('/', 'Host: shop%2eexample'), 400],
  'letters beyond ASCII in Host': [get('/', 'Host: sh\xf6p.example'), 400],
  'a scheme in Host': [get('/', 'Host: http://HOST'), 400],
  'a port too large': [get('/', 'Host: shop.example:99999'), 400],
  'port 0': [get('/', 'Host: shop.example:0'), 400],
  'a negative port': [get('/', 'Host: shop.example:-1'), 400],
  'no port after the colon': [get('/', 'Host: shop.example:'), 400],
  'a port of letters': [get('/', 'Host: shop.example:http'), 400],
  'two ports': [get('/', 'Host: shop.example:80:80'), 400],
  'a single dot': [get('/', 'Host: .'), 400],
  'an open bracket': [get('/', 'Host: [::1'), 400],
  'a zone in IPv6': [get('/', 'Host: [fe80::1%25eth0]'), 400],
  '300 characters': [get('/', `Host: ${'a'.repeat(300)}`), 400],
  'an absolute form of another host': [get('http://evil.example/'), 400],
  'an absolute form with another port': [get('http://127.0.0.1:1/'), 400],
  'an absolute form with user info': [get('http://user@HOST/'), 400],
  'an absolute form of another scheme': [get('https://HOST/'), 400],
  'an absolute form that is not HTTP': [get('ftp://HOST/'), 400],
  'a scheme without a host': [get('http:///x'), 400],
  'javascript:': [get('javascript:alert(1)'), 400],
  'no slash at the beginning': [get('page'), 400],
  'a fragment': [get('/page#fragment'), 400],
  'letters beyond ASCII in the target': [get('/\xff\xfe'), 400],
  'GET *': [get('*'), 400],
  'a URL of 9 KiB': [get(`/${'a'.repeat(9 * 1024)}`), 414],
  'a query of 9 KiB': [get(`/?${'a'.repeat(9 * 1024)}`), 414],
  'a field block of 70 KiB in one field': [get('/', `Host: HOST\r\nA: ${'a'.repeat(70 * 1024)}`), 431],
  'a field block of 70 KiB in many fields': [get('/', `Host: HOST\r\n${fields(100, 'a'.repeat(710))}`), 431],
  'a field block of 1 MiB': [get('/', `Host: HOST\r\n${fields(100, 'a'.repeat(10_480))}`), 431],
  'a field name of 70 KiB': [get('/', `Host: HOST\r\n${'a'.repeat(70 * 1024)}: v`), 431],
  '201 fields': [get('/', `Host: HOST\r\n${fields(200)}`), 431],
  '10,000 fields': [get('/', `Host: HOST\r\n${fields(10_000, '')}`), 431],
  TRACE: ['TRACE / HTTP/1.1\r\nHost: HOST\r\n\r\n', 405],
  CONNECT: ['CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n', 405],
  'an unknown method': ['FROBNICATE / HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
  'a method of 10 kB': [`${'A'.repeat(10_000)} / HTTP/1.1\r\nHost: HOST\r\n\r\n`, 400],
  'HTTP/0.9': ['GET /\r\n\r\n', 505],
  'HTTP/2.0': ['GET / HTTP/2.0\r\nHost: HOST\r\n\r\n', 505],
  'HTTP/1.0 without Host': ['GET / HTTP/1.0\r\n\r\n', 400],
  'an unknown expectation': [get('/', 'Host: HOST\r\nConnection: close\r\nExpect: nonsense'), 417],
}

describe('invalid targets and heads are refused without a request to the shop', () => {
  it.each(Object.entries(refused))('%s', async (_, [request, status]) => {
    const before = shop.origin.requests.length
    expect(await statusOf(request)).toBe(status)
    expect(shop.origin.requests.length).toBe(before)
  })
})

describe('a Host without a channel gets 421 without a request to the shop', () => {
  const strangers = [
    'evil.example',
    '127.0.0.1',
    '127.0.0.1:1',
    'localhost',
    'localhost.evil.example:PORT',
    '127.0.0.2:PORT',
    '2130706433:PORT',
    '0x7f.1:PORT',
    '127.1:PORT',
    '[::ffff:127.0.0.1]:PORT',
    '0.0.0.0:PORT',
    'LOCALHOST.:1',
  ]
  it.each(strangers)('%s', async (stranger) => {
    const host = stranger.replace('PORT', String(shop.port))
    const before = shop.origin.requests.length
    const { answers } = await speak(shop.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(answers[0]!.status).toBe(421)
    expect(shop.origin.requests.length).toBe(before)
  })
})

describe('all spellings of a URL share one page', () => {
  it('spellings of the Host', async () => {
    const spellings = [
      shop.host,
      `127.0.0.1.:${shop.port}`,
      `127.0.0.1:${String(shop.port).padStart(5, '0')}`,
      `localhost:${shop.port}`,
      `LocalHost:${shop.port}`,
      `localhost.:${shop.port}`,
      `[::1]:${shop.port}`,
    ]
    for (const host of spellings) {
      const { answers } = await speak(shop.port, `GET /spelt HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(answers[0]).toMatchObject({ status: 200 })
    }
    expect(shop.origin.hits('/spelt')).toBe(1)
  })

  it('the shop always receives the canonical public Host', async () => {
    await speak(shop.port, `GET /told HTTP/1.1\r\nHost: LOCALHOST:${shop.port}\r\nConnection: close\r\n\r\n`)
    expect(shop.origin.last('/told').headers).toMatchObject({
      host: shop.host,
      'x-forwarded-host': shop.host,
      'x-forwarded-proto': 'http',
    })
  })

  it('the absolute form of the target', async () => {
    for (const target of ['/absolute', `http://${shop.host}/absolute`, `HTTP://${shop.host}/absolute`]) {
      const { answers } = await speak(
        shop.port,
        `GET ${target} HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`,
      )
      expect(answers[0]!.status).toBe(200)
    }
    expect(shop.origin.hits('/absolute')).toBe(1)
  })
})

describe('unusual targets reach the shop as paths of this channel', () => {
  const odd: Record<string, string> = {
    '//evil.example/x': '//evil.example/x',
    '///': '///',
    '/\\evil.example': '/%5Cevil.example',
    '/http://evil.example/': '/http://evil.example/',
    '/@evil.example': '/@evil.example',
    '/a%00b': '/a%00b',
    '/%2e%2e/%2e%2e/etc/passwd': '/etc/passwd',
    '/..%2f..%2fetc': '/..%2F..%2Fetc',
    '/%ff%fe': '/%FF%FE',
    '/?': '/',
    '/??': '/??',
    '/%': '/%25',
    '/%zz': '/%25zz',
    '/%0d%0aX-Evil:%20a': '/%0D%0AX-Evil:%20a',
    '/{}|^`"<>': '/%7B%7D%7C%5E%60%22%3C%3E',
    [`/${'a'.repeat(8000)}`]: `/${'a'.repeat(8000)}`,
  }
  it.each(Object.entries(odd))('%s', async (target, expected) => {
    shop.origin.forget()
    const { answers } = await speak(
      shop.port,
      `GET ${target} HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`,
    )
    expect(answers[0]!.status).toBe(200)
    expect(shop.origin.requests.map((request) => request.url)).toEqual([expected])
    expect(shop.origin.last().headers['host']).toBe(shop.host)
  })
})

describe('OPTIONS', () => {
  const ask = async (target: string, ...lines: string[]) => {
    shop.origin.forget()
    const head = [`OPTIONS ${target} HTTP/1.1`, `Host: ${shop.host}`, 'Connection: close', ...lines]
    const { answers } = await speak(shop.port, `${head.join('\r\n')}\r\n\r\n`)
    return answers[0]!
  }

  it.each([
    ['*', 'Accept: */*'],
    ['*', 'Max-Forwards: 5'],
    ['/page', 'Max-Forwards: 0'],
  ])('is answered without the shop: %s %s', async (target, line) => {
    const allow = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
    expect(await ask(target, line)).toMatchObject({ status: 204, headers: { allow } })
    expect(shop.origin.requests).toEqual([])
  })

  it.each([
    ['1', '0'],
    ['9'.repeat(30), '254'],
    ['-1', '-1'],
  ])('reaches the shop with one hop less: Max-Forwards: %s', async (sent, received) => {
    expect((await ask('/page', `Max-Forwards: ${sent}`)).status).toBe(200)
    expect(shop.origin.last('/page').headers['max-forwards']).toBe(received)
  })
})

it('TRACE neither stores nor reads a page', async () => {
  await shop.ask('/kept')
  await speak(shop.port, `TRACE /kept HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`)
  await shop.ask('/kept')
  expect(shop.origin.requests.filter((request) => request.path === '/kept' && request.method !== 'GET')).toEqual([])
})

it('200 fields are accepted', async () => {
  const { answers } = await speak(
    shop.port,
    `GET /many HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n${fields(198)}\r\n\r\n`,
  )
  expect(answers[0]!.status).toBe(200)
})
