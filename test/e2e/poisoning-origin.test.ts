import type { Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decoded, exchange, untilHit } from '../helpers/exchange.ts'
import { speak } from '../http/front/wire.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ config: { origin: { headersTimeout: '2s', idleTimeout: '1s', totalTimeout: '3s' } } })
})
afterAll(() => shop.close())

const storable = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: public, max-age=60\r\n'
const gzipped = gzipSync('a page of the shop, long enough to be cut in the middle of it')

/** What the shop sends before it closes the connection. */
const broken: Record<string, string | Buffer> = {
  'nothing at all': '',
  'half a status line': 'HTTP/1.1 20',
  'half a head': 'HTTP/1.1 200 OK\r\nContent-Ty',
  'another protocol': 'SSH-2.0-OpenSSH_9.6\r\n',
  'a body shorter than its Content-Length': `${storable}Content-Length: 100\r\n\r\nshort`,
  'no body for its Content-Length': `${storable}Content-Length: 100\r\n\r\n`,
  'chunks without an end': `${storable}Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n`,
  'a chunk shorter than its size': `${storable}Transfer-Encoding: chunked\r\n\r\nff\r\nshort`,
  'an invalid chunk size': `${storable}Transfer-Encoding: chunked\r\n\r\nzz\r\nshort\r\n0\r\n\r\n`,
  'two Content-Lengths': `${storable}Content-Length: 5\r\nContent-Length: 6\r\n\r\nshort`,
  'Content-Length and chunks': `${storable}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n0\r\n\r\n`,
  'a Content-Length that is not a number': `${storable}Content-Length: five\r\n\r\nshort`,
  'NUL in a field': `${storable}X: a\0b\r\nContent-Length: 5\r\n\r\nshort`,
  'a broken gzip body': Buffer.concat([
    Buffer.from(`${storable}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n`),
    Buffer.from('short'),
  ]),
  'a cut gzip body': Buffer.concat([
    Buffer.from(`${storable}Content-Encoding: gzip\r\nContent-Length: 40\r\n\r\n`),
    gzipped.subarray(0, 40),
  ]),
  'gzip with a wrong checksum': Buffer.concat([
    Buffer.from(`${storable}Content-Encoding: gzip\r\nContent-Length: ${gzipped.length}\r\n\r\n`),
    gzipped.subarray(0, -8),
    Buffer.alloc(8, 'x'),
  ]),
  'a broken brotli body': Buffer.concat([
    Buffer.from(`${storable}Content-Encoding: br\r\nContent-Length: 9\r\n\r\n`),
    brotliCompressSync('a page of the shop').subarray(0, 9),
  ]),
}

async function endlessly(socket: Socket): Promise<void> {
  socket.write(`${storable}Transfer-Encoding: chunked\r\n\r\n`)
  const timer = setInterval(() => socket.write('5\r\nagain\r\n'), 50)
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
}

it('a compression bomb is forwarded unchanged and not stored', async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024))
  shop.origin.raw(
    '/bomb',
    (socket) =>
      void socket.end(
        Buffer.concat([
          Buffer.from(`${storable}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`),
          bomb,
        ]),
      ),
  )
  const answer = await shop.ask('/bomb')
  expect([answer.status, answer.body.equals(bomb)]).toEqual([200, true])
  shop.origin.on('/bomb', page('mended'))
  expect(String(decoded(await shop.ask('/bomb')))).toContain('mended')
  await untilHit(() => shop.ask('/bomb'))
})

describe('truncated or malformed answers are not stored', () => {
  it.each(Object.entries(broken))('%s: 502, and the next visitor gets the page', async (name, bytes) => {
    const path = `/broken-${name.replace(/\W+/g, '-')}`
    shop.origin.raw(path, (socket) => void socket.end(bytes))
    expect((await shop.ask(path)).status).toBe(502)
    shop.origin.on(path, page('mended'))
    expect(String(decoded(await shop.ask(path)))).toContain('mended')
    await untilHit(() => shop.ask(path))
  })

  it.each([
    ['silence', (socket: Socket) => void socket.once('close', () => {})],
    ['a head and then silence', (socket: Socket) => void socket.write(`${storable}Content-Length: 5\r\n\r\n`)],
    ['an endless body', endlessly],
    ['half a head and then silence', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-')],
  ])('%s: 504, and nothing is stored', async (name, answer) => {
    const path = `/slow-${name.replace(/\W+/g, '-')}`
    shop.origin.raw(path, answer)
    expect((await shop.ask(path)).status).toBe(504)
    shop.origin.on(path, page('mended'))
    expect(String(decoded(await shop.ask(path)))).toContain('mended')
  })

  it.each([
    ['of a known length', 'Content-Length: 100000\r\n\r\nthe beginning'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\nd\r\nthe beginning\r\n'],
  ])('a response %s that has already begun is cut visibly', async (name, rest) => {
    const path = `/private-${name.replaceAll(' ', '-')}`
    shop.origin.raw(path, (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nCache-Control: private\r\n${rest}`)
      setTimeout(() => socket.destroy(), 100)
    })
    const {
      answers,
      rest: partial,
      closed,
    } = await speak(shop.port, `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`)
    expect({ answers, closed }).toEqual({ answers: [], closed: true })
    expect(partial).toContain('the beginning')
  })
})

/** Answers that are personal to a visitor; each differs every time. */
const personal: Record<string, { answer: Record<string, string | string[]>; ask?: Record<string, string> }> = {
  'Set-Cookie': { answer: { 'cache-control': 'max-age=60', 'set-cookie': 'session=secret' } },
  'several Set-Cookies': { answer: { 'cache-control': 'max-age=60', 'set-cookie': ['a=b', 'session=secret'] } },
  private: { answer: { 'cache-control': 'private, max-age=60' } },
  'no-store': { answer: { 'cache-control': 'no-store' } },
  'no-store in capitals': { answer: { 'cache-control': 'NO-STORE, max-age=60' } },
  'no-store after public': { answer: { 'cache-control': 'public, max-age=60, no-store' } },
  'private and public': { answer: { 'cache-control': 'public, private, max-age=60' } },
  'two fields that contradict': { answer: { 'cache-control': ['public, max-age=60', 'private'] } },
  'private with a list of fields': { answer: { 'cache-control': 'private="set-cookie", max-age=60' } },
  'private with a value': { answer: { 'cache-control': 'private=yes, max-age=60' } },
  'an unclosed quote': { answer: { 'cache-control': 'max-age=60, foo="bar, private' } },
  'spaces around the equals sign': { answer: { 'cache-control': 'max-age = 60, no-store' } },
  'semicolons between directives': { answer: { 'cache-control': 'public; max-age=60; private' } },
  'a max-age that is not a number': { answer: { 'cache-control': 'public, max-age=abc' } },
  'a negative max-age': { answer: { 'cache-control': 'public, max-age=-60' } },
  'max-ages that differ': { answer: { 'cache-control': 'public, max-age=60, max-age=0' } },
  'an invalid Expires': { answer: { expires: '0' } },
  'Vary: *': { answer: { 'cache-control': 'public, max-age=60', vary: '*' } },
  'Vary: * among others': { answer: { 'cache-control': 'public, max-age=60', vary: 'Accept, *' } },
  'Vary: Cookie with a session': {
    answer: { 'cache-control': 'public, max-age=60', vary: 'Cookie' },
    ask: { Cookie: 'session=one' },
  },
  'a session cookie': { answer: { 'cache-control': 'max-age=60' }, ask: { Cookie: 'session=one' } },
  Authorization: { answer: { 'cache-control': 'max-age=60' }, ask: { Authorization: 'Basic b25lOnNlY3JldA==' } },
  'no caching fields': { answer: {} },
}

describe('a personal page never reaches another visitor', () => {
  it.each(Object.entries(personal))('%s', async (name, { answer, ask }) => {
    const path = `/personal-${name.replace(/\W+/g, '-')}`
    let visitor = 0
    shop.origin.on(path, () => ({ headers: answer, body: `of visitor ${++visitor}` }))
    const first = await exchange(shop.daemon.url + path, { headers: ask ?? {} })
    expect(String(decoded(first))).toBe('of visitor 1')
    for (const number of [2, 3]) {
      const next = await exchange(shop.daemon.url + path, {
        headers: ask === undefined || number === 3 ? {} : { Cookie: 'session=two' },
      })
      if (number === 2) expect(String(decoded(next))).toBe('of visitor 2')
      expect(next.headers.get('set-cookie') ?? '').toBe(
        answer['set-cookie'] === undefined ? '' : [answer['set-cookie']].flat().join(', '),
      )
    }
  })

  it('the cookie of an explicitly public page only reaches the visitor who caused it', async () => {
    shop.origin.on('/shared', {
      headers: { 'cache-control': 'public, max-age=60', 'set-cookie': 'session=secret' },
      body: 'for all',
    })
    expect((await shop.ask('/shared')).headers.get('set-cookie')).toBe('session=secret')
    const next = await untilHit(() => shop.ask('/shared'))
    expect(next.headers.get('set-cookie')).toBeNull()
  })
})
