import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../../helpers/api.ts'
import { bearer, json, jsonOf, prefix } from '../../helpers/api-client.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'
import { speak } from '../front/wire.ts'

let origin: Origin
let api: Api

beforeAll(async () => {
  origin = await startOrigin({
    otherwise: () => ({
      headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60' },
      body: 'page',
    }),
  })
  api = await openApi({ args: ['--origin', origin.url] })
})

afterAll(async () => {
  await api?.stop()
  await origin?.stop()
})

const post = (path: string, value: unknown) => {
  const body = json(value)
  return api.ask(prefix + path, { method: 'POST', ...body, headers: { ...body.headers, ...bearer(api.write.token) } })
}

it('logs a write operation with its client', async () => {
  await api.ask('/a')
  expect(jsonOf(await post('/clear', {}))).toEqual({ success: true, filesDeleted: 1 })
  await post('/purge', { urls: [`${api.daemon.url}/a`] })
  const { items } = jsonOf(await api.ask(`${prefix}/invalidation-log/recent`, { headers: bearer(api.read.token) })) as {
    items: { source: string; actor: string; scope: string }[]
  }
  expect(items.map(({ source, actor }) => [source, actor])).toEqual(items.map(() => ['api', api.write.clientId]))
  expect(items.length).toBe(2)
})

it('separates the paths of the daemon from those of the shop', async () => {
  origin.on('/api/search', { headers: { 'content-type': 'application/json' }, body: '{"from":"shop"}' })
  expect(jsonOf(await api.ask('/api/search'))).toEqual({ from: 'shop' })
  expect((await api.ask('/api/_action/vendor-cacheable')).body.toString()).toBe('page')
  expect((await api.ask('/api/_info/health-check')).status).toBe(200)
  expect(origin.hits('/api/_info/health-check')).toBe(0)
})

it.each(['/healthz', '/readyz', '/api/_info/health-check', '/api/_info/openapi.json', '/api/_info/docs'])(
  '%s answers GET and HEAD without a token, and nothing else',
  async (path) => {
    const [got, head] = [await api.ask(path), await api.ask(path, { method: 'HEAD' })]
    expect([got.status, head.status, head.body.length]).toEqual([200, 200, 0])
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const answer = await api.ask(path, { method })
      expectRefusal(answer, 405)
      expect(answer.headers.get('allow')).toBe('GET, HEAD')
    }
  },
)

describe('the OpenAPI document', () => {
  it('is served without a token', async () => {
    const answer = await api.ask('/api/_info/openapi.json')
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'application/json',
      'no-store',
    ])
    expect(jsonOf(answer)).toMatchObject({
      openapi: '3.1.0',
      paths: { [`${prefix}/stats`]: { get: { operationId: 'cache.stats' } } },
    })
  })

  it('is shown on a page that loads and runs nothing', async () => {
    const answer = await api.ask('/api/_info/docs')
    const html = answer.body.toString()
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/)
    expect(html).toContain(`GET ${prefix}/stats`)
    const [, start] = html.split(`POST ${prefix}/warmup/start`)
    expect(start).toMatch(/^.*<td><code>batchSize<\/code><\/td><td>body<\/td><td><code>{[^<]*&quot;maximum&quot;:1000}/)
    const [, byType] = html.split(`POST ${prefix}/clear-by-type`)
    expect(byType).toMatch(/^.*<td><code>type<\/code><\/td><td>body, required<\/td>/)
    expect(html).not.toMatch(/<script|<link|<img|<iframe|style="|\son\w+=|(?:src|href)="(?!openapi\.json")/i)
  })
})

describe('concurrent requests', () => {
  it('get equal answers for equal URLs', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        api.ask(`${prefix}/pages?limit=${1 + (index % 2)}`, { headers: bearer(api.read.token) }),
      ),
    )
    for (const [index, answer] of answers.entries())
      expect(jsonOf(answer)).toMatchObject({ success: true, limit: 1 + (index % 2) })
  })

  it('are answered in order when pipelined', async () => {
    const request = (path: string) =>
      `GET ${prefix}${path} HTTP/1.1\r\nHost: ${api.daemon.host}\r\nAuthorization: Bearer ${api.read.token}\r\n\r\n`
    const { answers } = await speak(
      api.daemon.port,
      [request('/stats') + request('/nothing') + request('/pages?limit=0') + request('/stats')],
      { answers: 4 },
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 200])
  })
})

it('a client that sends Expect: 100-continue receives 100 before it sends its body', async () => {
  const head = `POST ${prefix}/clear HTTP/1.1\r\nHost: ${api.daemon.host}\r\nAuthorization: Bearer ${api.write.token}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`
  const { answers } = await speak(api.daemon.port, [head, '{}'])
  expect(answers.map(({ status }) => status)).toEqual([100, 200])
})

it('a truncated body changes nothing and does not affect other requests', async () => {
  const head = `POST ${prefix}/clear HTTP/1.1\r\nHost: ${api.daemon.host}\r\nAuthorization: Bearer ${api.write.token}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"dry`
  const { connect } = await import('node:net')
  const socket = connect(api.daemon.port, '127.0.0.1')
  await new Promise<void>((resolve) => socket.write(head, () => resolve()))
  socket.destroy()
  expect((await api.ask(`${prefix}/stats`, { headers: bearer(api.read.token) })).status).toBe(200)
})

it('a deeply nested body does not affect other requests', async () => {
  const depth = 200_000
  const answer = await api.ask(`${prefix}/clear`, {
    method: 'POST',
    headers: { ...bearer(api.write.token), 'content-type': 'application/json' },
    body: `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`,
  })
  expect([200, 400]).toContain(answer.status)
  expectRefusal(await post('/clear-by-type', { type: { type: { type: 'products' } } }), 400, /^type: /)
})
