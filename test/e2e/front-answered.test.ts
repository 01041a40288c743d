import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bearer, createClient, fetchToken, prefix } from '../helpers/api-client.ts'
import { exchange, isHit } from '../helpers/exchange.ts'
import type { Reply } from '../helpers/origin.ts'
import { expectHeldBack } from './slow-visitor.ts'
import { until } from '../helpers/until.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { isFromSocket, methodOf, requestFor, send } from '../http/front/outcome.ts'
import { speak } from '../http/front/wire.ts'

let shop: Shop
let token: string
const film = 'a long page '.repeat(300_000)
const replies: Record<string, Reply> = {
  '/never': { headers: { 'content-type': 'text/html', 'cache-control': 'no-store' }, body: 'never stored' },
  '/never/empty': { headers: { 'cache-control': 'no-store' }, body: '' },
  '/never/gone': { status: 204, headers: { 'cache-control': 'no-store' } },
  '/never/moved': { status: 302, headers: { location: '/page', 'cache-control': 'no-store' } },
  '/never/cookies': { headers: { 'set-cookie': ['a=1; Path=/', 'b=2'], xkey: 'secret' }, body: 'yours' },
  '/never/large': { headers: { 'cache-control': 'no-store' }, body: film },
  '/large': page(film, { etag: '"a"' }),
}
beforeAll(async () => {
  shop = await openShop()
  for (const [path, reply] of Object.entries(replies)) shop.origin.on(path, reply)
  shop.origin.on('/never/chunks', (_, response) => {
    response.writeHead(200, { 'cache-control': 'no-store' })
    for (const piece of ['one ', 'two ', 'three']) response.write(piece)
    response.end()
  })
  shop.origin.raw('/never/half', (socket) => {
    socket.end('HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 9\r\n\r\nhalf')
  })
  shop.origin.raw('/never/nothing', (socket) => void socket.end())
  token = await fetchToken(shop.daemon.url, await createClient(shop.daemon, 'test'))
  // Too large for memory, so it is read from its file.
  await until(async () => isHit(await shop.ask('/large')))
})
afterAll(() => shop.close())

const get = (target: string, ...fields: string[]) => requestFor(shop.host, `GET ${target}`, fields)
const authorised = () => `Authorization: ${bearer(token)['authorization']}`

const cache: [name: string, text: () => string][] = [
  ...[...Object.keys(replies), '/never/chunks', '/never/half', '/never/nothing'].flatMap(
    (path): [string, () => string][] => [
      [`GET ${path}`, () => get(path)],
      [`HEAD ${path}`, () => get(path).replace('GET', 'HEAD')],
    ],
  ),
  ['a range of a file', () => get('/large', 'Range: bytes=1000000-3000000')],
  ['a range behind the end of a file', () => get('/large', 'Range: bytes=99999999-')],
  ['an unchanged file', () => get('/large', 'If-None-Match: "a"')],
  ['a script', () => get('/never', 'X-Requested-With: XMLHttpRequest')],
  ['an authorised visitor', () => get('/never', 'Authorization: Basic x')],
  ['only what is cached', () => get('/never', 'Cache-Control: only-if-cached')],
  ['another Host', () => get('/never', 'Host: other.example')],
  ['a loop', () => get('/never', 'Via: 1.1 pagecache')],
]

const own: [name: string, text: () => string][] = [
  ['health', () => get('/healthz')],
  ['health, its head', () => get('/healthz').replace('GET', 'HEAD')],
  ['another spelling', () => get('/x/../%68ealthz')],
  ['statistics', () => get(`${prefix}/list?limit=2`, authorised())],
  ['statistics, their head', () => get(`${prefix}/list?limit=2`, authorised()).replace('GET', 'HEAD')],
  ['no token', () => get(`${prefix}/stats`)],
  ['a wrong token', () => get(`${prefix}/stats`, 'Authorization: Bearer x')],
  ['no bearer token', () => get(`${prefix}/stats`, 'Authorization: Basic x')],
  ['a token in the URL', () => get(`${prefix}/stats?access_token=x`, authorised())],
  ['invalid input', () => get(`${prefix}/list?limit=x`, authorised())],
  ['no such endpoint', () => get(`${prefix}/nothing`, authorised())],
  ['a slash behind it', () => get(`${prefix}/stats/`, authorised())],
  ['another method', () => get(`${prefix}/clear`, authorised())],
  ['a page of another site', () => get(`${prefix}/stats`, authorised(), 'Sec-Fetch-Site: cross-site')],
  ['an unknown Host', () => get(`${prefix}/stats`, authorised(), 'Host: other.example')],
  ['the document', () => get('/api/_info/openapi.json')],
  ['a page for operators', () => get('/admin', 'Accept-Encoding: gzip')],
  ['a redirect', () => get('/admin/')],
  ['active stages', () => get('/vendor-stage/active?page=%2F')],
  ['active stages of another Host', () => get('/vendor-stage/active', 'Host: other.example')],
  ['the token endpoint', () => get('/api/oauth/token')],
]

/** Requests to the daemon's endpoints that Node's server answers. */
const left: [name: string, text: () => string][] = [
  ['a repeated field', () => get(`${prefix}/stats`, authorised(), authorised())],
  ['a field that repeats in another spelling', () => get('/healthz', 'X-A: 1', 'x-a: 2')],
  ['Connection: close', () => get(`${prefix}/stats`, authorised(), 'Connection: close')],
  ['a body', () => `${get(`${prefix}/stats`, authorised(), 'Content-Length: 2')}ok`],
  ['two requests', () => get('/healthz') + get('/healthz')],
]

describe('the socket and Node’s server give the same answer', () => {
  it.each([...cache, ...own])('%s', async (_, text) => {
    const whole = await send(shop, [text()], methodOf(text()))
    const cut = await send(shop, [text().slice(0, 9), text().slice(9)], methodOf(text()))
    expect({ ...whole, fromSocket: null }).toEqual({ ...cut, fromSocket: null })
    expect(whole.fromSocket.every(Boolean)).toBe(true)
    expect(whole.answers.length + whole.rest.length).toBeGreaterThan(0)
  })

  it.each(left)('left to Node: %s', async (_, text) => {
    const { answers, fromSocket } = await send(shop, [text()], methodOf(text()))
    expect(answers.length).toBeGreaterThan(0)
    expect(fromSocket).not.toContain(true)
  })

  it('a page that is stored', async () => {
    shop.origin.on('/new', page('new'))
    const [a, b] = ['/new?a', '/new?b'].map((target) => get(target))
    const whole = await send(shop, [a!], 'GET')
    const cut = await send(shop, [b!.slice(0, 9), b!.slice(9)], 'GET')
    expect(whole.answers).toMatchObject([
      {
        status: 200,
        headers: { 'cache-status': expect.stringContaining('stored') },
        body: expect.stringContaining('new'),
      },
    ])
    expect(whole.answers).toEqual(cut.answers)
    expect(whole.fromSocket).toEqual([true])
    for (const target of ['/new?a', '/new?b']) await until(async () => isHit(await shop.ask(target)))
  })

  it('a page for each browser, asked for by one that sends its name in two lines', async () => {
    shop.origin.on('/browser', ({ headers }) => page(`for ${headers['user-agent']}`, { vary: 'User-Agent' }))
    const lines = ['User-Agent: first', 'User-Agent: second']
    await until(async () => isHit(await shop.ask('/browser', { headers: { 'user-agent': 'first' } })))
    const text = get('/browser', ...lines)
    for (const pieces of [[text], [text.slice(0, 9), text.slice(9)]]) {
      const { answers } = await send(shop, pieces, 'GET')
      expect(answers).toMatchObject([{ status: 200, body: expect.stringContaining('for first, second') }])
    }
  })
})

it('a visitor who does not read holds the shop back, and gets everything in the end', () =>
  expectHeldBack(shop, '/never/film', 'no-store', get('/never/film')))

it('requests that do not wait for each other are answered in order', async () => {
  const targets = ['/never', '/healthz', '/large', '/never/chunks', '/api/_info/health-check', '/never/empty', '/new?c']
  const texts = targets.map((target) => get(target))
  const bodies = await Promise.all(targets.map(async (target) => String((await shop.ask(target)).body)))
  for (const pieces of [texts, [texts.join('')]]) {
    const { answers } = await speak(shop.port, pieces, { answers: texts.length })
    expect(answers.map(({ body }) => body)).toEqual(bodies)
  }
})

it('a connection that the socket keeps is closed by the daemon that stops, after the answer', async () => {
  const stopping = await openShop()
  onTestFinished(() => stopping.close())
  let answer = () => {}
  stopping.origin.on('/slow', async () => {
    await new Promise<void>((resolve) => (answer = resolve))
    return page('slow')
  })
  const reading = speak(stopping.port, requestFor(stopping.host, 'GET /slow'))
  await until(() => stopping.origin.hits('/slow') === 1)
  stopping.daemon.kill('SIGTERM')
  await until(async () =>
    exchange(`${stopping.daemon.url}/healthz`).then(
      () => false,
      () => true,
    ),
  )
  answer()
  const { answers, closed } = await reading
  expect(answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
  expect(closed).toBe(true)
})

it('each request is counted once, as what it is', async () => {
  const count = async (result: string) => {
    const body = String((await shop.ask('/metrics')).body)
    return sumOf(body, result)
  }
  const [misses, answers] = [await count('miss'), await count('own')]
  for (const target of ['/never', '/healthz']) {
    const { answers: given } = await speak(shop.port, get(target), { answers: 1 })
    expect(given.map(isFromSocket)).toEqual([true])
  }
  expect((await count('miss')) - misses).toBe(1)
  // The one before was not yet counted while it was answered.
  expect((await count('own')) - answers).toBe(3)
})

/** The number of requests with a result in the text of `/metrics`, of all types and channels. */
function sumOf(metrics: string, result: string): number {
  const samples = metrics.matchAll(
    new RegExp(`^pagecache_requests_total\\{[^}]*result="${result}"[^}]*\\} (\\d+)`, 'gm'),
  )
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0)
}
