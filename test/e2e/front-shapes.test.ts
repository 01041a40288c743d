import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isHit } from '../helpers/exchange.ts'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { parseAnswers, speak, type WireAnswer } from '../http/front/wire.ts'

const changed = 'Thu, 15 Jan 2026 11:00:00 GMT'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  shop.origin.on('/page', {
    headers: {
      'content-type': 'text/html',
      'cache-control': 'public, max-age=86400',
      etag: '"a"',
      'last-modified': changed,
    },
    body: '<p>A page of a shop.</p>'.repeat(100),
  })
  // The identity body that ranges are cut from, and a coding.
  for (const headers of [{}, { range: 'bytes=0-1' }, { 'accept-encoding': 'br' }])
    await until(async () => isHit(await shop.ask('/page', { headers })))
})
afterAll(() => shop.close())

const get = (...lines: string[]) => request('GET', lines)
const head = (...lines: string[]) => request('HEAD', lines)
const request = (method: string, lines: string[]) => (host: string) =>
  `${method} /page HTTP/1.1\r\nHost: ${host}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`

/** Fields that differ from second to second, and those that only Node's server adds. */
const passing = new Set(['age', 'date', 'connection', 'keep-alive'])

function lasting({ status, headers, body }: WireAnswer) {
  const kept = Object.entries(headers).filter(([name]) => !passing.has(name))
  return {
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, value.replace(/ttl=\d+/, 'ttl')])),
    body,
  }
}

it.each<[string, (host: string) => string, number]>([
  ['a page', get(), 200],
  ['a page in a coding', get('Accept-Encoding: br'), 200],
  ['If-None-Match', get('If-None-Match: W/"a"'), 304],
  ['If-None-Match with a list', get('If-None-Match: "b", "a"'), 304],
  ['If-None-Match that does not match', get('If-None-Match: "b"'), 200],
  ['If-Modified-Since', get(`If-Modified-Since: ${changed}`), 304],
  ['If-Modified-Since before the change', get('If-Modified-Since: Thu, 15 Jan 2026 10:59:59 GMT'), 200],
  ['If-None-Match over If-Modified-Since', get('If-None-Match: "b"', `If-Modified-Since: ${changed}`), 200],
  ['HEAD', head(), 200],
  ['HEAD in a coding', head('Accept-Encoding: br'), 200],
  ['HEAD with a range', head('Range: bytes=0-4'), 200],
  ['HEAD with If-None-Match', head('If-None-Match: *'), 304],
  ['a range', get('Range: bytes=5-9'), 206],
  ['a suffix', get('Range: bytes=-5', 'Accept-Encoding: br'), 206],
  ['a range that holds', get('Range: bytes=5-9', 'If-Range: "a"'), 206],
  ['a range that does not hold', get('Range: bytes=5-9', 'If-Range: W/"a"'), 200],
  ['a range of an unchanged page', get('Range: bytes=5-9', 'If-None-Match: "a"'), 304],
  ['a range behind the end', get('Range: bytes=9999-'), 416],
  ['several ranges', get('Range: bytes=0-1,3-4'), 200],
])('%s is answered alike, cut at every byte', async (_, make, status) => {
  const text = make(shop.host)
  const methods = [text.slice(0, text.indexOf(' '))]
  const ask = async (pieces: string[]) => {
    const { answers, rest } = await speak(shop.port, pieces, { answers: 1, methods })
    expect({ pieces, rest }).toEqual({ pieces, rest: '' })
    return lasting(answers[0]!)
  }
  shop.origin.forget()
  const whole = await ask([text])
  expect(whole).toMatchObject({ status, headers: { 'cache-status': 'pagecache; hit; ttl' } })
  const cuts = Array.from({ length: text.length - 1 }, (_, index) => index + 1)
  for (let from = 0; from < cuts.length; from += 16)
    await Promise.all(
      cuts.slice(from, from + 16).map(async (cut) => {
        const pieces = [text.slice(0, cut), text.slice(cut)]
        expect({ pieces, ...(await ask(pieces)) }).toEqual({ pieces, ...whole })
      }),
    )
  expect(shop.origin.requests).toEqual([])
})

/** Sends requests on one connection, each once the one before is answered; its pieces one at a time. */
async function converse(requests: readonly (readonly string[])[]): Promise<WireAnswer[]> {
  const socket = connect({ port: shop.port, host: '127.0.0.1', noDelay: true })
  let bytes = Buffer.alloc(0)
  let heard = () => {}
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    heard()
  })
  const all: WireAnswer[] = []
  for (const pieces of requests) {
    bytes = Buffer.alloc(0)
    // A server that is too busy to read a piece gets it together with the next one.
    const rest = Math.max(10, 200 / pieces.length)
    for (const piece of pieces) {
      await new Promise<void>((resolve) => socket.write(Buffer.from(piece, 'latin1'), () => resolve()))
      await new Promise((resolve) => setTimeout(resolve, rest))
    }
    const read = () => parseAnswers(bytes, [pieces.join('').split(' ', 1)[0]!], false).answers
    while (!read().some(({ status }) => status >= 200)) await new Promise<void>((resolve) => (heard = resolve))
    all.push(...read())
  }
  socket.destroy()
  return all
}

let misses = 0

/** Node's server says how long it keeps a connection; a hit from the socket does not. */
const isFromSocket = ({ headers }: WireAnswer) => headers['keep-alive'] === undefined

const post = (...lines: string[]) =>
  `POST /api/x HTTP/1.1\r\nHost: ${shop.host}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`

it.each<[string, () => string[]]>([
  ['a page that is never cached', () => [get()(shop.host).replace('/page', '/account')]],
  ['an upload', () => [`${post('Content-Length: 3')}abc`]],
  ['an upload in two pieces', () => [`${post('Content-Length: 3')}a`, 'bc']],
  ['an upload without a body', () => [post()]],
])('%s is passed on from the socket, and a hit after it too', async (_, pieces) => {
  shop.origin.on('/api/x', async (_request, _response, incoming) => ({ body: (await incoming.toArray()).join('') }))
  const hit = [get()(shop.host)]
  const answers = await converse([hit, pieces(), hit, pieces(), hit])
  expect(answers.map(isFromSocket)).toEqual([true, true, true, true, true])
  expect(lasting(answers[3]!)).toEqual(lasting(answers[1]!))
})

it.each<[string, () => string]>([
  ['a miss', () => get()(shop.host).replace('/page', `/missing/${(misses += 1)}`)],
  ['a health check', () => get()(shop.host).replace('/page', '/healthz')],
])('%s is answered on the socket, and a hit after it too', async (_, text) => {
  const hit = [get()(shop.host)]
  const answers = await converse([hit, [text()], hit, [text()], hit])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(answers.map(isFromSocket)).toEqual([true, true, true, true, true])
})

it.each<[string, () => string[]]>([
  [
    'a miss in pieces',
    () =>
      get()(shop.host)
        .replace('/page', '/missing?b')
        .split(/(?<=T)/),
  ],
  [
    'a health check in pieces',
    () =>
      get()(shop.host)
        .replace('/page', '/healthz')
        .split(/(?<=T)/),
  ],
  ['a hit in pieces', () => get()(shop.host).split('')],
  ['a large upload', () => [post('Content-Length: 20000'), 'a'.repeat(10_000), 'b'.repeat(10_000)]],
])('a hit after %s comes from the socket', async (_, pieces) => {
  shop.origin.on('/api/x', async (_request, _response, incoming) => ({ body: (await incoming.toArray()).join('') }))
  const hit = [get()(shop.host)]
  const answers = await converse([hit, pieces(), hit, hit, pieces(), hit])
  expect(answers.map(isFromSocket)).toEqual([true, false, true, true, false, true])
  for (const at of [2, 3, 5]) expect(lasting(answers[at]!)).toEqual(lasting(answers[0]!))
})

it.each<[string, () => string[]]>([
  ['chunks', () => [`${post('Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`]],
  ['an expectation', () => [post('Content-Length: 3', 'Expect: 100-continue'), 'abc']],
  ['an absolute form', () => [get()(shop.host).replace('/page', `http://${shop.host}/page`)]],
])('a connection stays with Node after %s', async (_, pieces) => {
  shop.origin.on('/api/x', async (_request, _response, incoming) => ({ body: (await incoming.toArray()).join('') }))
  const answers = await converse([pieces(), [get()(shop.host)]])
  const final = answers.filter(({ status }) => status >= 200)
  expect(final.map(isFromSocket)).toEqual([false, false])
  expect(final[1]!.body).toContain('A page of a shop.')
})

it('a hit behind a request that is not answered yet waits for its turn', async () => {
  let answer = () => {}
  shop.origin.on('/slow', async () => {
    await new Promise<void>((resolve) => (answer = resolve))
    return { headers: { 'cache-control': 'no-store' }, body: 'slow' }
  })
  const text = [get()(shop.host).replace('/page', '/slow'), get()(shop.host)]
  const speaking = speak(shop.port, text, { answers: 2 })
  await until(() => shop.origin.hits('/slow') > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
  answer()
  const { answers } = await speaking
  expect(answers.map(({ body }) => body.slice(0, 4))).toEqual(['slow', '<p>A'])
})
