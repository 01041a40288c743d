import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange, isHit } from '../helpers/exchange.ts'
import { startOrigin, type Reply } from '../helpers/origin.ts'
import { expectHeldBack } from './slow-visitor.ts'
import { until } from '../helpers/until.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { isFromSocket, methodOf, requestFor, send } from '../http/front/outcome.ts'
import { parseAnswers, speak } from '../http/front/wire.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ config: { cache: { invalidateOnUnsafe: 'uri' } } })
  for (const [path, reply] of Object.entries(replies)) shop.origin.on(path, reply)
  shop.origin.on('/api/echo', async ({ method }, _, incoming) => ({
    status: 201,
    headers: { 'x-method': method },
    body: Buffer.concat(await incoming.toArray()),
  }))
  shop.origin.on('/account/chunks', (_, response) => {
    response.writeHead(200, { 'cache-control': 'private' })
    for (const piece of ['one ', 'two ', 'three']) response.write(piece)
    response.end()
  })
  for (const [path, bytes] of Object.entries(raw)) shop.origin.raw(path, (socket) => void socket.end(bytes))
})
afterAll(() => shop.close())

const replies: Record<string, Reply> = {
  '/account': { headers: { 'content-type': 'text/html', 'cache-control': 'private' }, body: 'orders' },
  '/account/empty': { body: '' },
  '/account/cookies': {
    headers: { 'set-cookie': ['a=1; Path=/', 'b=2'], xkey: 'secret', 'x-own': 'a  b' },
    body: 'x',
  },
  '/account/gone': { status: 204 },
  '/account/same': { status: 304, headers: { etag: '"a"' } },
  '/account/broken': { status: 500, body: 'broken' },
  '/account/large': { body: 'a large answer '.repeat(50_000) },
}

/** Answers that the test's shop writes byte by byte, on a connection that ends. */
const raw: Record<string, string> = {
  '/account/early': 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  '/account/hops':
    'HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: a\r\nContent-Length: 2\r\n\r\nok',
  '/account/until-end': 'HTTP/1.1 200 OK\r\n\r\nuntil the end',
  '/account/odd-status': 'HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nok',
  '/account/reset-content': 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n',
  '/account/nothing': '',
  '/account/nonsense': 'no HTTP at all\r\n\r\n',
  '/account/half-a-head': 'HTTP/1.1 200 OK\r\nContent-Le',
  '/account/half-a-body': 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf',
  '/account/half-a-chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf',
}

const request = (line: string, fields: readonly string[] = [], body = '') => requestFor(shop.host, line, fields, body)

/** Requests that the socket answers, also where the shop fails. */
const passed: [name: string, text: () => string][] = [
  ...Object.keys({ ...replies, '/account/chunks': null, ...raw }).flatMap((path): [string, () => string][] => [
    [`GET ${path}`, () => request(`GET ${path}`)],
    [`HEAD ${path}`, () => request(`HEAD ${path}`)],
  ]),
  ['a query', () => request('GET /account?b=1&a=%2f&utm_source=x')],
  ['a target outside ASCII', () => request('GET /account/%C3%A4')],
  [
    'fields that impersonate a proxy',
    () =>
      request('GET /account', [
        'X-Forwarded-For: 1.2.3.4',
        'X-Forwarded-Host: evil.example',
        'X_Forwarded_Proto: https',
        'Forwarded: for=1.2.3.4',
        'Via: 1.1 other',
        'Proxy: http://evil.example',
        'X-Original-URL: /admin',
      ]),
  ],
  ['hop-by-hop fields', () => request('GET /account', ['Keep-Alive: 5', 'TE: trailers', 'Proxy-Authorization: x'])],
  ['Connection: keep-alive', () => request('GET /account', ['Connection: Keep-Alive'])],
  ['several cookies', () => request('GET /account', ['Cookie: a=1; b=2', 'X: \xe4\t', 'cookie:  c=3 '])],
  ['conditions', () => request('GET /account', ['If-None-Match: "a"', 'Range: bytes=0-1', 'If-Match: *'])],
  ['a script', () => request('GET /account', ['X-Requested-With: XMLHttpRequest', 'Authorization: Basic x'])],
  ['a method in a field', () => request('POST /api/echo', ['X-HTTP-Method-Override: DELETE', 'Content-Length: 0'])],
  ['a POST', () => request('POST /api/echo', ['Content-Type: text/plain', 'Content-Length: 5'], 'hello')],
  ['a PUT', () => request('PUT /api/echo', ['content-length:  0005 '], 'h\xe4llo')],
  ['a PATCH', () => request('PATCH /api/echo', ['Content-Length: 4'], '\r\n\r\n')],
  ['a DELETE', () => request('DELETE /api/echo')],
  ['a DELETE with a body', () => request('DELETE /api/echo', ['Content-Length: 2'], 'ok')],
  ['a POST without a body', () => request('POST /api/echo')],
  ['an empty POST', () => request('POST /api/echo', ['Content-Length: 0'])],
  ['a POST of a page', () => request('POST /page', ['Content-Length: 1'], 'x')],
]

/** Requests that Node's server answers. */
const left: [name: string, text: () => string][] = [
  ['Connection: close', () => request('GET /account', ['Connection: close'])],
  ['a named field', () => request('GET /account', ['Connection: x-a', 'X-A: 1'])],
  ['a GET with a body', () => request('GET /account', ['Content-Length: 2'], 'ok')],
  ['a GET that announces none', () => request('GET /account', ['Content-Length: 0'])],
  ['chunks', () => request('POST /api/echo', ['Transfer-Encoding: chunked'], '2\r\nok\r\n0\r\n\r\n')],
  ['two lengths', () => request('POST /api/echo', ['Content-Length: 2', 'Content-Length: 2'], 'ok')],
  ['two framings', () => request('POST /api/echo', ['Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n')],
  ['no length', () => request('POST /api/echo', ['Content-Length: '])],
  ['a signed length', () => request('POST /api/echo', ['Content-Length: +2'], 'ok')],
  ['two Hosts', () => request('GET /account', [`Host: ${shop.host}`, `Host: ${shop.host}`])],
  ['an upload for another Host', () => request('POST /account', ['Host: other.example', 'Content-Length: 2'], 'ok')],
  ['an upload that loops', () => request('POST /account', ['Via: 1.1 pagecache', 'Content-Length: 2'], 'ok')],
  ['an absolute form', () => request(`GET http://${shop.host}/account`)],
  ['OPTIONS', () => request('OPTIONS /account')],
  ['TRACE', () => request('TRACE /account')],
  ['a large body', () => request('POST /api/echo', ['Content-Length: 20000'], 'x'.repeat(20_000))],
  ["the daemon's own path", () => request('POST /api/oauth/token', ['Content-Length: 2'], '{}')],
]

describe('the socket and Node’s server give the same answer, and the shop gets the same request', () => {
  it.each(passed)('%s', async (_, text) => {
    const whole = await send(shop, [text()], methodOf(text()))
    const cut = await send(shop, [text().slice(0, 9), text().slice(9)], methodOf(text()))
    expect({ ...whole, fromSocket: null }).toEqual({ ...cut, fromSocket: null })
    expect(whole.fromSocket).toEqual(whole.answers.filter(({ status }) => status >= 200).map(() => true))
    expect(whole.shop.length).toBeGreaterThan(0)
  })

  it.each(left)('left to Node: %s', async (_, text) => {
    const whole = await send(shop, [text()], methodOf(text()))
    const cut = await send(shop, [text().slice(0, 9), text().slice(9)], methodOf(text()))
    expect({ answers: whole.answers, shop: whole.shop }).toEqual({ answers: cut.answers, shop: cut.shop })
    expect(whole.fromSocket).not.toContain(true)
    expect(whole.answers.length).toBeGreaterThan(0)
  })

  it('cut at every byte', async () => {
    const text = request('POST /api/echo', ['Cookie: a=b', 'Content-Length: 7'], 'a\r\n\r\nb ')
    const whole = await send(shop, [text], 'POST')
    expect(whole.answers).toMatchObject([{ status: 201, body: 'a\r\n\r\nb ' }])
    for (let at = 1; at < text.length; at++) {
      const cut = await send(shop, [text.slice(0, at), text.slice(at)], 'POST')
      expect({ at, ...cut, fromSocket: null }).toEqual({ at, ...whole, fromSocket: null })
    }
  })
})

it('an answer leaves in one write', async () => {
  const socket = connect({ port: shop.port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  for (const path of ['/account', '/account/empty', '/account/gone', '/account/nothing']) {
    socket.write(request(`GET ${path}`))
    const chunk = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
    expect(parseAnswers(chunk, ['GET'], false)).toMatchObject({ answers: [{}], rest: '' })
  }
})

it('bytes outside ASCII in a field arrive unchanged', async () => {
  shop.origin.raw('/account/latin', (socket) => {
    socket.end(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: v\xe4\r\n\r\nok', 'latin1'))
  })
  const { answers } = await speak(shop.port, request('GET /account/latin'), { answers: 1 })
  expect(answers[0]!.headers['x-name']).toBe('v\xe4')
})

it('requests that do not wait for each other are answered in order', async () => {
  const turns = Array.from({ length: 30 }, (_, index) => index)
  shop.origin.on('/account/turn', async ({ url }) => {
    await pause(Math.random() * 3)
    return { body: url }
  })
  const texts = turns.map((turn) => request(`GET /account/turn?${turn}`))
  const expected = turns.map((turn) => `/account/turn?${turn}`)
  for (const pieces of [texts, [texts.join('')], [texts.slice(0, 3).join(''), texts.slice(3).join('')]]) {
    const { answers } = await speak(shop.port, pieces, { answers: turns.length })
    expect(answers.map(({ body }) => body)).toEqual(expected)
  }
})

it('a visitor who does not read holds the shop back, and gets everything in the end', () =>
  expectHeldBack(shop, '/account/film', 'private', request('GET /account/film')))

it('a POST removes the page that it changes before it is answered', async () => {
  shop.origin.on('/changed', ({ method }) => page(`after ${method}`))
  const text = request('POST /changed', ['Content-Length: 1'], 'x')
  const read = () => exchange(`${shop.daemon.url}/changed`)
  await read()
  await until(async () => isHit(await read()))
  const { fromSocket } = await send(shop, [text], 'POST')
  expect(fromSocket).toEqual([true])
  expect(isHit(await read())).toBe(false)
})

it('a request beyond what the shop takes gets 503 from the socket', async () => {
  const busy = await openShop({ config: { origin: { maxConcurrent: 1, queue: 0 } } })
  onTestFinished(() => busy.close())
  let answer = () => {}
  busy.origin.on('/account', async () => {
    await new Promise<void>((resolve) => (answer = resolve))
    return { body: 'orders' }
  })
  const text = `GET /account HTTP/1.1\r\nHost: ${busy.host}\r\n\r\n`
  const first = speak(busy.port, text, { answers: 1 })
  await until(() => busy.origin.hits('/account') === 1)
  const { answers } = await speak(busy.port, text, { answers: 1 })
  expect(answers).toMatchObject([
    { status: 503, headers: { 'retry-after': '5', 'cache-status': expect.stringContaining('origin overloaded') } },
  ])
  expect(isFromSocket(answers[0]!)).toBe(true)
  answer()
  expect((await first).answers).toMatchObject([{ status: 200, body: 'orders' }])
})

it('a reload does not disturb an answer under way', async () => {
  let answer = () => {}
  shop.origin.on('/account/wait', async () => {
    await new Promise<void>((resolve) => (answer = resolve))
    return { body: 'waited' }
  })
  const text = request('GET /account/wait')
  const waiting = speak(shop.port, [text], { answers: 1 })
  await until(() => shop.origin.hits('/account/wait') === 1)
  const before = shop.daemon.logs().length
  shop.daemon.kill('SIGHUP')
  await until(() => /reload/i.test(shop.daemon.logs().slice(before)))
  answer()
  expect((await waiting).answers).toMatchObject([{ status: 200, body: 'waited' }])
})

it('requests with the same fields on one connection reach each channel with its own credentials, after a reload too', async () => {
  const origin = await startOrigin({ otherwise: { headers: { 'cache-control': 'private' }, body: 'ok' } })
  onTestFinished(() => origin.stop())
  const channels = (password: string) => ({
    salesChannels: ['', '/de'].map((path, at) => ({
      id: `0190c0de-0000-7000-8000-00000000000${at}`,
      name: `Shop ${at}`,
      url: `http://shop.example${path}`,
      origin: at === 0 ? origin.url : origin.url.replace('//', `//preview:${password}@`),
    })),
  })
  const daemon = await startDaemon({ config: channels('before') })
  onTestFinished(async () => void (await daemon.stop()))
  const socket = connect({ port: daemon.port, host: '127.0.0.1', noDelay: true })
  onTestFinished(() => void socket.destroy())
  const sent = async (line: string) => {
    socket.write(requestFor('shop.example', line, ['Host: shop.example', 'Cookie: session=a', 'Content-Length: 0']))
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
    const { authorization = null } = origin.last().headers
    return authorization && Buffer.from(authorization.split(' ')[1]!, 'base64').toString()
  }
  expect(await sent('POST /basket')).toBeNull()
  expect(await sent('POST /de/basket')).toBe('preview:before')
  expect(await sent('DELETE /de/basket')).toBe('preview:before')
  expect(await sent('POST /basket')).toBeNull()
  expect(await sent('POST /de/basket')).toBe('preview:before')
  const server = { host: '127.0.0.1', port: daemon.port }
  await writeFile(join(daemon.projectDir, 'pagecache.yaml'), JSON.stringify({ ...channels('after'), server }))
  daemon.kill('SIGHUP')
  await until(() => daemon.logs().includes('The configuration was reloaded'))
  expect(await sent('POST /de/basket')).toBe('preview:after')
})

it('each request is counted once, as passed', async () => {
  const count = async () => {
    const body = String((await shop.ask('/metrics')).body)
    return sumOf(body, 'pass')
  }
  const before = await count()
  const texts = [
    request('GET /account'),
    request('POST /api/echo', ['Content-Length: 2'], 'ok'),
    request('DELETE /api/echo'),
  ]
  await speak(shop.port, texts, { answers: 3 })
  expect((await count()) - before).toBe(3)
})

/** The number of requests with a result in the text of `/metrics`, of all types and channels. */
function sumOf(metrics: string, result: string): number {
  const samples = metrics.matchAll(
    new RegExp(`^pagecache_requests_total\\{[^}]*result="${result}"[^}]*\\} (\\d+)`, 'gm'),
  )
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0)
}
