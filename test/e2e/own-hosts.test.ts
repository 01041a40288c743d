import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../helpers/api.ts'
import { bearer, prefix } from '../helpers/api-client.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { speak } from '../http/front/wire.ts'

let origin: Origin
let api: Api

beforeAll(async () => {
  origin = await startOrigin({
    otherwise: { headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60' }, body: 'page' },
  })
  api = await openApi({
    config: {
      server: { names: ['Cache.Internal'] },
      trustedProxies: ['127.0.0.2'],
      salesChannels: [
        { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: 'http://shop.example', origin: origin.url },
      ],
    },
  })
})
afterAll(async () => {
  await api?.stop()
  await origin?.stop()
})

const ask = (path: string, host: string, headers: Record<string, string> = {}) =>
  exchange(api.daemon.url + path, { headers: { host, ...headers } })
const guarded = [
  '/metrics',
  '/admin',
  '/admin/admin.js',
  '/api/_info/openapi.json',
  '/api/_info/docs',
  `${prefix}/stats`,
  '/api/_action/vendor-stage/stages',
  '/api/oauth/token',
  '/%6detrics',
  '/x/../admin',
]

describe.each(guarded)('%s', (path) => {
  it.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'shop.example.evil.example',
    'xshop.example',
    '127.1',
    '2130706433',
    '0x7f.1',
    'cache.internal.evil.example',
    'localhost6',
  ])('is not for the Host %s', async (host) => {
    for (const headers of [{}, bearer(api.write.token), { origin: `http://${host}` }]) {
      const answer = await ask(path, host, headers)
      const oauth = path === '/api/oauth/token' ? 'invalid_request' : null
      expectRefusal(answer, 421, /is not a name of this daemon/, oauth)
      expect(answer.body.toString()).not.toContain('pagecache_')
    }
  })

  it.each([
    '127.0.0.1',
    '127.0.0.1:1',
    'localhost',
    'LOCALHOST:8080',
    'localhost.',
    '[::1]:8080',
    '10.1.2.3:8080',
    'shop.example',
    'shop.example:8080',
    'Shop.Example.',
    'cache.internal',
    'cache.internal:9000',
  ])('is available for the Host %s', async (host) => {
    expect((await ask(path, host)).status).not.toBe(421)
  })
})

it.each([
  '/vendor-stage',
  '/vendor-stage/active',
  '/vendor-stage/track',
  '/vendor-stage/x',
  '/%76endor-stage/./active',
])('%s under a Host without a channel gets 421 as JSON, with every method', async (path) => {
  const before = origin.requests.length
  for (const host of ['evil.example', '127.0.0.1', 'cache.internal'])
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE'])
      expectRefusal(
        await exchange(api.daemon.url + path, { method, headers: { host } }),
        421,
        /^No sales channel is configured for http:/,
      )
  expect(origin.requests.length).toBe(before)
})

it.each(['/healthz', '/readyz', '/api/_info/health-check'])('%s answers any Host', async (path) => {
  expect((await ask(path, 'evil.example')).status).toBe(200)
})

it('the command line reaches a daemon by a name of its own', async () => {
  expect((await ask(`${prefix}/stats`, 'cache.internal', bearer(api.read.token))).status).toBe(200)
})

it('a page of another site cannot call the API with any method', async () => {
  for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const path of [
      `${prefix}/stats`,
      `${prefix}/nothing`,
      `/api/_action/vendor-stage/stages`,
      '/api/_action/%76endor-cache/stats',
    ]) {
      for (const fields of [
        { origin: 'http://evil.example' },
        { origin: 'null' },
        { origin: 'http://shop.example' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        const answer = await exchange(api.daemon.url + path, {
          method,
          headers: { ...bearer(api.write.token), ...(fields as Record<string, string>) },
        })
        expect([method, path, fields, answer.status]).toEqual([method, path, fields, 403])
      }
    }
    const own = await exchange(`${api.daemon.url}${prefix}/stats`, {
      method,
      headers: { ...bearer(api.write.token), origin: api.daemon.url },
    })
    expect([method, own.status === 403]).toEqual([method, false])
  }
})

it.each(['PURGE /kept', 'PURGE /\r\nxkey: a', 'BAN /', 'PURGEKEYS /\r\nxkey: a'])(
  'a browser does not purge: %s',
  async (line) => {
    const [request, field] = line.split('\r\n')
    const { answers } = await speak(
      api.daemon.port,
      `${request} HTTP/1.1\r\nHost: evil.example:8080\r\nOrigin: http://evil.example:8080\r\n${field === undefined ? '' : `${field}\r\n`}\r\n`,
      { answers: 1 },
    )
    expect(answers[0]!.status).toBe(403)
  },
)

describe('what cannot be read', () => {
  const unreadable: Record<string, string> = {
    'a space in a field name': 'GET PATH HTTP/1.1\r\nHost: HOST\r\nA b: c\r\n\r\n',
    'two lengths': 'POST PATH HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
    'length and chunks':
      'POST PATH HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'an odd transfer coding': 'POST PATH HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'a broken chunk': 'POST PATH HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n',
    'two Hosts': 'GET PATH HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n',
    'an empty Host': 'GET PATH HTTP/1.1\r\nHost:\r\n\r\n',
    'an empty Host before another': 'GET PATH HTTP/1.1\r\nHost:\r\nHost: HOST\r\n\r\n',
    'no Host': 'GET PATH HTTP/1.1\r\nA: b\r\n\r\n',
    'another version': 'GET PATH HTTP/3.0\r\nHost: HOST\r\n\r\n',
    'another expectation': 'POST PATH HTTP/1.1\r\nHost: HOST\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\na',
    'too many fields': `GET PATH HTTP/1.1\r\nHost: HOST\r\n${'A: b\r\n'.repeat(201)}\r\n`,
    'fields that are too large': `GET PATH HTTP/1.1\r\nHost: HOST\r\nA: ${'a'.repeat(80_000)}\r\n\r\n`,
    'a URL that is too long': `GET PATH?${'a'.repeat(9000)} HTTP/1.1\r\nHost: HOST\r\n\r\n`,
    'an unknown method': 'BREW PATH HTTP/1.1\r\nHost: HOST\r\n\r\n',
    TRACE: 'TRACE PATH HTTP/1.1\r\nHost: HOST\r\n\r\n',
    'a fragment': 'GET PATH#a HTTP/1.1\r\nHost: HOST\r\n\r\n',
  }
  it.each(Object.entries(unreadable))('%s: one API error, and the connection is closed', async (_, text) => {
    for (const path of [`${prefix}/stats`, '/metrics', '/a']) {
      const request = text.replace('PATH', path).replaceAll('HOST', api.daemon.host)
      for (const pieces of [request, [request.slice(0, 20), request.slice(20)]]) {
        const { answers, rest, closed } = await speak(api.daemon.port, pieces)
        expect([answers.length, rest, closed]).toEqual([1, '', true])
        expect(answers[0]!.status).toBeGreaterThanOrEqual(400)
        expect(answers[0]!.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
        expect(JSON.parse(answers[0]!.body)).toEqual({ success: false, message: expect.any(String) as string })
      }
    }
  })
})
