import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, type Shop } from '../http/api/shop.ts'
import { speak, type WireAnswer } from '../http/front/wire.ts'

/** Spellings of one path that have the same canonical form. */
function spellings(path: string): string[] {
  const escaped = (escape: (hex: string) => string) =>
    path.replace(/[a-z]/g, (letter) => `%${escape(letter.charCodeAt(0).toString(16))}`)
  const segments = path.split('/').slice(1)
  return [
    escaped((hex) => hex),
    escaped((hex) => hex.toUpperCase()),
    path.replace(/[a-z](?=[^/]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/x/.%2E${path}`,
    `/.${path}`,
    `/%2e${path}`,
    `/../..${path}`,
    `/${segments.join('/./')}`,
    `/${segments.join('/y/../')}`,
    `/product-1/z/../..${path}`,
  ]
}

const names = [
  '/healthz',
  '/readyz',
  '/metrics',
  '/api/_info/health-check',
  '/api/_info/openapi.json',
  '/api/_info/docs',
  '/api/oauth/token',
  '/api/_action/vendor-cache/stats',
  '/api/_action/vendor-stage/stages',
  '/vendor-stage/active',
  '/vendor-stage/client.js',
  '/vendor-stage/track',
  '/vendor-stage/nothing',
  '/vendor-stage',
  '/admin',
  '/admin/',
  '/admin/admin.js',
]

/** Kinds of requests: method and header fields. */
const kinds = [
  ['HEAD', ''],
  ['POST', 'Content-Length: 0\r\n'],
  ['PUT', 'Content-Length: 0\r\n'],
  ['DELETE', ''],
  ['OPTIONS', ''],
  ['GET', 'Range: bytes=0-1\r\n'],
  ['GET', 'If-None-Match: "a"\r\n'],
  ['GET', 'If-Match: "a"\r\n'],
  ['GET', 'Authorization: Basic eDp5\r\n'],
  ['GET', 'Cookie: a=b\r\n'],
  ['GET', 'Connection: close\r\n'],
  ['GET', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
  ['GET', 'Content-Length: 0\r\n'],
] as const

/** Text of every page of the shop. */
const shopText = '<title>page</title>'

let shop: Shop
beforeAll(async () => {
  // No path is bypassed, so that every page of the shop could be stored.
  shop = await openShop({ config: { cache: { bypass: { cookies: [], paths: [] } } } })
})
afterAll(() => shop?.close())

async function ask(target: string, { method = 'GET', fields = '' } = {}): Promise<WireAnswer> {
  const { answers } = await speak(shop.port, `${method} ${target} HTTP/1.1\r\nHost: ${shop.host}\r\n${fields}\r\n`, {
    answers: 1,
    methods: [method],
  })
  return answers[0]!
}

/** The parts of a response that do not change between requests. */
const lasting = ({ status, headers, body }: WireAnswer, path: string) => ({
  status,
  type: headers['content-type'],
  allow: headers['allow'],
  body: path === '/metrics' ? body.includes('pagecache_') : body.replace(/"generatedAt":"[^"]*"/, ''),
})

describe.each(names)('%s', (path) => {
  it('is the same endpoint in every spelling of its canonical form', async () => {
    const [plain, queried] = [await ask(path), await ask(`${path}?v=1`)]
    expect(plain.headers['cache-status']).toBeUndefined()
    for (const spelling of spellings(path)) {
      const answer = await ask(spelling)
      expect({ spelling, ...lasting(answer, path) }).toEqual({ spelling, ...lasting(plain, path) })
      expect({ spelling, ...lasting(await ask(`http://${shop.host}${spelling}`), path) }).toEqual({
        spelling,
        ...lasting(plain, path),
      })
      expect({ spelling, ...lasting(await ask(`${spelling}?v=1`), path) }).toEqual({
        spelling,
        ...lasting(queried, path),
      })
    }
    expect(shop.origin.requests.map(({ url }) => url)).toEqual([])
  })

  it('is never requested from the shop, with any method and any headers', async () => {
    const all = [path, ...spellings(path)]
    for (const [index, [method, fields]] of kinds.entries()) {
      // A quarter of the pairs: each kind of request in a few spellings, and each spelling with a few kinds.
      for (const spelling of all.filter((_, at) => (at + index) % 4 === 0)) {
        const answer = await ask(spelling, { method, fields })
        expect([spelling, method, answer.headers['cache-status']]).toEqual([spelling, method, undefined])
        expect([spelling, method, answer.body.includes(shopText)]).toEqual([spelling, method, false])
      }
    }
    expect((await ask(spellings(path)[0]!, { method: 'PURGE' })).status).toBe(200)
    expect(shop.origin.requests.map(({ url }) => url)).toEqual([])
    expect(await shop.pages()).toBe(0)
  })
})

it('an upgrade of an own path is answered by the endpoint', async () => {
  shop.origin.onUpgrade((_, socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  )
  for (const path of ['/readyz', '/%72eadyz', '/x/../readyz']) {
    const answer = await ask(path, { fields: 'Connection: Upgrade\r\nUpgrade: websocket\r\n' })
    expect([answer.status, answer.body]).toEqual([200, '{"status":"ready"}'])
  }
})

it('BAN and PURGE of an own path in any spelling do not affect the endpoint', async () => {
  for (const request of ['PURGE /%72eadyz', 'BAN /readyz', 'PURGEKEYS /x/../readyz']) {
    await speak(shop.port, `${request} HTTP/1.1\r\nHost: ${shop.host}\r\nxkey: a\r\n\r\n`, { answers: 1 })
    expect((await ask('/readyz')).body).toBe('{"status":"ready"}')
  }
})

it('paths that only resemble an own one are pages of the shop, each with its own key', async () => {
  const alike = [
    '//readyz',
    '/readyz/',
    '/READYZ',
    '/readyz;a=b',
    '/%2572eadyz',
    '/readyz%2f',
    '/x%2f..%2freadyz',
    '/\\readyz',
    '/readyz%00',
    '/Metrics',
    '/a/vendor-stage/active',
    '//vendor-stage/active',
    '/vendor-stage%2Factive',
    '/vendor-stages',
    '/api/_info/config',
    '/api/_action/vendor-cacheable',
    '/api/_action/other',
    '/admin/other',
    '/readyz/../page',
    '/vendor-stage/../page',
  ]
  for (const path of alike) {
    const answer = await ask(path)
    expect([path, answer.status, answer.body.includes(shopText)]).toEqual([path, 200, true])
  }
  expect((await ask('/readyz')).body).toBe('{"status":"ready"}')
  expect((await ask('/vendor-stage/active')).body).toContain('"success":true')
})
