import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, type Shop } from '../http/api/shop.ts'
import { speak, type WireAnswer } from '../http/front/wire.ts'
import { exchange } from '../helpers/exchange.ts'
import { scratch } from '../helpers/scratch.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { draft } from '../pages/draft.ts'

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

describe('with channels below a path', () => {
  let origin: Origin
  let daemon: Daemon
  let project: Awaited<ReturnType<typeof scratch>>

  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: {
        headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60, stale-while-revalidate=600' },
        body: 'from the shop',
      },
    })
    project = await scratch('own-paths')
    // Pages that an older version stored under the keys of the daemon's endpoints, for both channels: fresh, stale and a 404.
    const store = await openFilesystemStore({
      directory: join(project.path, 'var/cache/prod'),
      maxSize: null,
      now: Date.now,
      onWarning: () => {},
    })
    for (const [channel, paths] of Object.entries({
      [de]: ['/de/vendor-stage/active', '/de/vendor-stage/client.js'],
      [root]: ['/readyz', '/metrics', '/vendor-stage/active', '/admin', '/api/_info/docs', '/readyz?a=b'],
    })) {
      for (const path of paths) {
        const url = `http://shop.example${path}`
        const page = draft(path, {
          key: `${channel} ${url}`,
          url,
          channelId: channel,
          status: path === '/metrics' ? 404 : 200,
          cachedAt: Date.now(),
          deleteAt: Date.now() + 86_400_000,
          staleAt: Date.now() + (path.includes('client') ? -1000 : 600_000),
          staleWhileRevalidate: 6000,
        })
        await store.put(page, Buffer.from('an old page'), store.fence())
      }
    }
    await store.close()
    daemon = await startDaemon({
      projectDir: project.path,
      config: {
        cache: { bypass: { cookies: [], paths: [] } },
        salesChannels: [
          { id: root, name: 'Root', url: 'http://shop.example', origin: origin.url, sitemaps: ['/sitemap.xml'] },
          { id: de, name: 'De', url: 'http://shop.example/de', origin: origin.url, sitemaps: ['/sitemap.xml'] },
        ],
      },
    })
  })
  afterAll(async () => {
    await daemon?.stop()
    await origin?.stop()
    await project?.discard()
  })

  const get = async (path: string) =>
    (await exchange(daemon.url + path, { headers: { host: 'shop.example' } })).body.toString()

  it('pages that an older version stored for own paths are not found', async () => {
    expect(
      (JSON.parse((await daemon.run('cache:stats', '--json')).stdout) as { totalFiles: number }).totalFiles,
    ).toBeGreaterThan(0)
    for (const path of [
      '/readyz',
      '/readyz?a=b',
      '/%72eadyz',
      '/metrics',
      '/api/_info/docs',
      '/vendor-stage/active',
      '/x/../vendor-stage/active',
      '/de/vendor-stage/active',
      '/de/%76endor-stage/active',
      '/de/vendor-stage/client.js',
      '/de/./vendor-stage/client.js',
    ]) {
      for (let round = 0; round < 2; round++) expect(await get(path)).not.toMatch(/an old page|from the shop/)
    }
    expect(origin.requests).toEqual([])
  })

  it('/admin under the name of a channel is a page of the shop', async () => {
    expect(await get('/%61dmin/')).toBe('from the shop')
    expect(await get('/de/readyz')).toBe('from the shop')
    origin.forget()
  })

  it('cache:inspect reports them as endpoints without a request to the shop', async () => {
    for (const path of ['/readyz', '/%72eadyz', '/de/x/../vendor-stage/active']) {
      const { stdout } = await daemon.run('cache:inspect', `http://shop.example${path}`, '--json')
      expect(JSON.parse(stdout)).toMatchObject({
        cached: false,
        reason: expect.stringContaining('endpoint of the daemon') as string,
        pages: [],
      })
    }
    expect(origin.requests).toEqual([])
  })

  it('a warmup skips them, from sitemaps and by URL', async () => {
    const locations = [
      '/page',
      '/readyz',
      '/%72eadyz',
      '/x/../metrics',
      '/vendor-stage/active',
      '/de/vendor-stage/active',
      '/de/page',
    ]
    for (const sitemap of ['/sitemap.xml', '/de/sitemap.xml'])
      origin.on(sitemap, {
        headers: { 'content-type': 'application/xml' },
        body: `<urlset>${locations.map((path) => `<url><loc>http://shop.example${path}</loc></url>`).join('')}</urlset>`,
      })
    const { stdout, stderr } = await daemon.run('warmup:start', '--wait', '--json')
    expect(stderr).not.toContain('Error')
    expect(JSON.parse(stdout)).toBeTruthy()
    const asked = origin.requests.map(({ path }) => path).filter((path) => !/sitemap|robots/.test(path))
    expect(asked.toSorted()).toEqual(['/de/page', '/page'])
  })
})

const root = '0190c0de-0000-7000-8000-000000000001'
const de = '0190c0de-0000-7000-8000-000000000002'
