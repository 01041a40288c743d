import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, type Shop } from '../http/api/shop.ts'
import { read } from '../http/front/wire.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

type Ending = 'FIN' | 'RST'

/** The shop writes these bytes, and ends the connection when the kernel has sent them. */
function answerWith(path: string, bytes: string | Buffer, ending: Ending): void {
  shop.origin.raw(path, (socket) => {
    socket.write(bytes, () =>
      ending === 'FIN' ? socket.end() : setImmediate(() => (socket as Socket).resetAndDestroy()),
    )
  })
}

const cacheable = 'Cache-Control: public, max-age=600\r\nContent-Type: text/html\r\n'
const head = (version: string, more = '') => `HTTP/${version} 200 OK\r\n${cacheable}${more}\r\n`
const body = '<!doctype html><p>the beginning of a page'
const packed = gzipSync(body.repeat(50))
const chunk = `${body.length.toString(16)}\r\n${body}\r\n`

const cut: [name: string, bytes: string | Buffer, ending: Ending][] = [
  ['ends with the connection, which is reset', head('1.1', 'Connection: close\r\n') + body, 'RST'],
  ['ends with a connection reset, without Connection: close', head('1.1') + body, 'RST'],
  ['is HTTP/1.0 and reset', head('1.0') + body, 'RST'],
  ['is reset before its first byte', head('1.1', 'Connection: close\r\n'), 'RST'],
  ['is shorter than its Content-Length', head('1.1', 'Content-Length: 100\r\n') + body, 'FIN'],
  [
    'is shorter than its Content-Length, on its last connection',
    head('1.1', 'Content-Length: 100\r\nConnection: close\r\n') + body,
    'FIN',
  ],
  [
    'is shorter than its Content-Length, and reset',
    head('1.1', 'Content-Length: 100\r\nConnection: close\r\n') + body,
    'RST',
  ],
  ['is HTTP/1.0 and shorter than its Content-Length', head('1.0', 'Content-Length: 100\r\n') + body, 'FIN'],
  ['lacks its last chunk', head('1.1', 'Transfer-Encoding: chunked\r\n') + chunk, 'FIN'],
  [
    'lacks its last chunk, on its last connection',
    head('1.1', 'Transfer-Encoding: chunked\r\nConnection: close\r\n') + chunk,
    'FIN',
  ],
  [
    'lacks its last chunk, and is reset',
    head('1.1', 'Transfer-Encoding: chunked\r\nConnection: close\r\n') + chunk,
    'RST',
  ],
  [
    'breaks off in a chunk',
    head('1.1', 'Transfer-Encoding: chunked\r\nConnection: close\r\n') + chunk.slice(0, -5),
    'FIN',
  ],
  [
    'lacks the end of its last chunk',
    head('1.1', 'Transfer-Encoding: chunked\r\nConnection: close\r\n') + `${chunk}0\r\n`,
    'FIN',
  ],
  [
    'is half a gzip file',
    Buffer.concat([
      Buffer.from(head('1.1', 'Connection: close\r\nContent-Encoding: gzip\r\n')),
      packed.subarray(0, -10),
    ]),
    'FIN',
  ],
]

const whole: [name: string, bytes: string, ending: Ending][] = [
  ['ends with its connection', head('1.1', 'Connection: close\r\n') + body, 'FIN'],
  ['is HTTP/1.0 and ends with its connection', head('1.0') + body, 'FIN'],
  [
    'has its full Content-Length before the connection is reset',
    head('1.1', `Content-Length: ${body.length}\r\nConnection: close\r\n`) + body,
    'RST',
  ],
  [
    'has its last chunk before the connection is reset',
    head('1.1', 'Transfer-Encoding: chunked\r\nConnection: close\r\n') + `${chunk}0\r\n\r\n`,
    'RST',
  ],
]

describe('a response that the shop truncates is not stored, and its visitor can tell', () => {
  it.each(cut)('one that %s', async (name, bytes, ending) => {
    const path = `/cut-${cut.findIndex(([other]) => other === name)}`
    answerWith(path, bytes, ending)
    expect((await shop.ask(path)).status).toBe(502)
    shop.origin.on(path, { headers: { 'cache-control': 'public, max-age=600' }, body: 'whole again' })
    expect(String((await shop.ask(path)).body)).toBe('whole again')
  })

  it.each(cut.filter(([name]) => !name.includes('gzip') && !name.includes('first byte')))(
    'bypassed: a response that %s',
    async (_, bytes, ending) => {
      answerWith('/account/page', bytes, ending)
      await expect(shop.ask('/account/page')).rejects.toThrow()
    },
  )

  it('passed through to a visitor who speaks HTTP/1.0: the connection is reset', async () => {
    answerWith('/account/page', head('1.1', 'Transfer-Encoding: chunked\r\n') + chunk, 'FIN')
    const socket = connect(shop.port, '127.0.0.1')
    socket.write(`GET /account/page HTTP/1.0\r\nHost: ${shop.host}\r\n\r\n`)
    socket.resume()
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNRESET')
  })
})

it.each([
  ['a byte after its Content-Length', `${head('1.1', `Content-Length: ${body.length}\r\n`)}${body}x`],
  [
    'a response after its last chunk',
    `${head('1.1', 'Transfer-Encoding: chunked\r\n')}${chunk}0\r\n\r\n${head('1.1')}`,
  ],
])('a response with %s reaches its visitor and is not stored', async (name, bytes) => {
  const path = `/overlong/${encodeURIComponent(name)}`
  answerWith(path, bytes, 'FIN')
  const { status, headers, body: received } = await shop.ask(path)
  expect({ status, body: String(received) }).toEqual({ status: 200, body })
  expect(headers.get('cache-status')).toContain('detail="the shop sent more bytes than it announced"')
  shop.origin.on(path, { body: 'asked again' })
  expect(String((await shop.ask(path)).body)).toBe('asked again')
})

describe('a complete response is stored', () => {
  it.each(whole)('one that %s', async (name, bytes, ending) => {
    const path = `/whole-${whole.findIndex(([other]) => other === name)}`
    answerWith(path, bytes, ending)
    const first = await shop.ask(path)
    expect({ status: first.status, body: String(first.body) }).toEqual({ status: 200, body })
    shop.origin.on(path, { body: 'asked again' })
    expect(String((await shop.ask(path)).body)).toBe(body)
  })
})

it('an HTTP/1.0 client gets a complete page and a closed connection', async () => {
  shop.origin.on('/account/whole', { body: 'all of it' })
  const socket = connect(shop.port, '127.0.0.1')
  socket.write(`GET /account/whole HTTP/1.0\r\nHost: ${shop.host}\r\n\r\n`)
  const { answers, closed } = await read(socket)
  expect({ answers: answers.map(({ body: text }) => text), closed }).toEqual({ answers: ['all of it'], closed: true })
})
