import { connect } from 'node:net'
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readBody } from '../helpers/origin.ts'
import { isHit } from '../helpers/exchange.ts'
import { read, speak } from '../http/front/wire.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  for (const path of ['/hit', '/other']) await shop.ask(path)
})
afterAll(() => shop.close())

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n${more}\r\n`
const last = 'Connection: close\r\n'

describe('pipelined requests are answered in order', () => {
  it('hits, misses, uploads and errors sent at once', async () => {
    shop.origin.on('/slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return page('page of /slow')
    })
    shop.origin.on('/echo', async (_, __, incoming) => ({ body: await readBody(incoming) }))
    const requests = [
      get('/hit'),
      get('/slow'),
      get('/other'),
      `POST /echo HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 5\r\n\r\nhello`,
      get('/healthz'),
      `HEAD /hit HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`,
      get('/new'),
      get('/hit', last),
    ]
    const { answers, rest } = await speak(shop.port, requests.join(''), {
      methods: ['GET', 'GET', 'GET', 'POST', 'GET', 'HEAD', 'GET', 'GET'],
    })
    expect(rest).toBe('')
    const wanted = [
      'page of /hit',
      'page of /slow',
      'page of /other',
      'hello',
      '"ok"',
      '',
      'page of /new',
      'page of /hit',
    ]
    expect(answers.map((answer, index) => answer.body.includes(wanted[index]!))).toEqual(wanted.map(() => true))
  })

  it('a malformed request gets its 400 after the answers before it', async () => {
    const { answers, rest, closed } = await speak(
      shop.port,
      `${get('/slow?1')}${get('/slow?2')}BROKEN\r\n\r\n${get('/unseen')}`,
    )
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 400])
    expect({ rest, closed }).toEqual({ rest: '', closed: true })
    expect(shop.origin.hits('/unseen')).toBe(0)
  })

  it('a refused request is answered in order, and later requests are dropped', async () => {
    const { answers, closed } = await speak(
      shop.port,
      `${get('/slow?3')}${get('/', 'Host: evil.example\r\n')}${get('/unseen')}`,
    )
    expect(answers.map((answer) => answer.status)).toEqual([200, 400])
    expect(closed).toBe(true)
    expect(shop.origin.hits('/unseen')).toBe(0)
  })

  it('empty lines after the last request are ignored', async () => {
    const { answers } = await speak(shop.port, `${get('/slow?4', last)}\r\n\r\n`)
    expect(answers.map((answer) => answer.status)).toEqual([200])
  })

  it('an interim response never corrupts another answer', async () => {
    shop.origin.on('/hinted', (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      return page('page of /hinted')
    })
    const { answers, rest } = await speak(shop.port, get('/slow?5') + get('/hinted', last))
    expect(rest).toBe('')
    expect(
      answers.filter((answer) => answer.status >= 200).map((answer) => /page of [^<]*/.exec(answer.body)![0]),
    ).toEqual(['page of /slow', 'page of /hinted'])
  })
})

it('an HTTP/1.0 client gets no interim response and no chunked body', async () => {
  shop.origin.on('/streamed', (_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.writeHead(200, { 'cache-control': 'no-store' })
    response.write('one ')
    response.end('two')
  })
  const { answers } = await speak(shop.port, `GET /streamed HTTP/1.0\r\nHost: ${shop.host}\r\n\r\n`)
  expect(answers).toMatchObject([{ status: 200, body: 'one two' }])
  expect(answers[0]!.headers['transfer-encoding']).toBeUndefined()
})

it('a request split into two segments anywhere is answered once and completely', async () => {
  const request = `${get('/hit', 'Cookie: a=b\r\n')}${get('/other', last)}`
  const expected = (await speak(shop.port, request)).answers.map((answer) => answer.body)
  const cuts = Array.from({ length: request.length - 1 }, (_, index) => index + 1)
  for (let at = 0; at < cuts.length; at += 20) {
    const spoken = await Promise.all(
      cuts.slice(at, at + 20).map((cut) => speak(shop.port, [request.slice(0, cut), request.slice(cut)])),
    )
    for (const { answers, rest } of spoken)
      expect({ bodies: answers.map((answer) => answer.body), rest }).toEqual({ bodies: expected, rest: '' })
  }
})

it('a request that arrives byte by byte is answered', async () => {
  const { answers } = await speak(shop.port, [...get('/hit', last)])
  expect(answers).toMatchObject([{ status: 200 }])
})

it('hits, an upload and further hits on one connection', async () => {
  shop.origin.on('/echo', async (_, __, incoming) => ({ body: await readBody(incoming) }))
  const socket = connect(shop.port, '127.0.0.1')
  const reading = read(socket)
  const send = (text: string) => new Promise<void>((resolve) => socket.write(text, () => setTimeout(resolve, 30)))
  for (const text of [
    get('/hit'),
    get('/hit'),
    `POST /echo HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 6\r\n\r\n`,
    'upload',
    get('/hit'),
    get('/other', last),
  ])
    await send(text)
  const { answers } = await reading
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200])
  expect(answers[2]!.body).toBe('upload')
  expect(shop.origin.last('/echo').headers['content-length']).toBe('6')
})

describe('Expect: 100-continue', () => {
  it('gets 100, and the shop receives the upload without the expectation', async () => {
    shop.origin.on('/echo', async (_, __, incoming) => ({ body: await readBody(incoming) }))
    const { answers } = await speak(shop.port, [
      `PUT /echo HTTP/1.1\r\nHost: ${shop.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n${last}\r\n`,
      'hello',
    ])
    expect(answers.map((answer) => answer.status)).toEqual([100, 200])
    expect(answers[1]!.body).toBe('hello')
    expect(shop.origin.last('/echo').headers['expect']).toBeUndefined()
  })

  it('a refused request gets no 100', async () => {
    const { answers } = await speak(
      shop.port,
      `PUT /echo HTTP/1.1\r\nHost: a b\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    )
    expect(answers.map((answer) => answer.status)).toEqual([400])
  })
})

describe('upgrade requests', () => {
  const upgrade = (to: string, more = '') =>
    `GET /socket HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

  it('a WebSocket is relayed to the shop in both directions', async () => {
    shop.origin.onUpgrade((request, socket, head) => {
      const accept = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nxkey: secret\r\n\r\nfrom the shop;`,
      )
      socket.on('end', () => socket.end())
      socket.on('data', (data: Buffer) => socket.write(`echo ${head}${data};`))
    })
    const socket = connect(shop.port, '127.0.0.1')
    let text = ''
    socket.on('data', (data: Buffer) => void (text += data))
    socket.write(upgrade('websocket', 'X-Forwarded-Host: evil.example\r\n'))
    await until(() => text.includes('from the shop;'))
    expect(text).toMatch(/^HTTP\/1\.1 101 /)
    expect(text).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(text).not.toContain('secret')
    expect(shop.origin.last('/socket').headers).toMatchObject({
      host: shop.host,
      'x-forwarded-host': shop.host,
      upgrade: 'websocket',
    })
    for (const word of ['one', 'two']) {
      socket.write(word)
      await until(() => text.includes(`echo ${word};`))
    }
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.end()
    await closed
  })

  it('the connection closes if the shop declines, and nothing is tunnelled', async () => {
    shop.origin.onUpgrade((_, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'))
    const { answers, closed } = await speak(shop.port, [
      upgrade('websocket'),
      get('/tunnelled', 'X-Forwarded-Host: evil.example\r\n'),
    ])
    expect(answers).toMatchObject([{ status: 200, body: 'no', headers: { connection: 'close' } }])
    expect(closed).toBe(true)
    expect(shop.origin.hits('/tunnelled')).toBe(0)
  })

  it('an ignored upgrade closes its connection, and later requests do not reach the shop', async () => {
    const { answers, closed } = await speak(shop.port, [
      `GET /hit HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
      `POST /behind HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 0\r\n\r\n`,
    ])
    expect([answers.length, answers[0]!.headers['connection'], closed]).toEqual([1, 'close', true])
    expect(shop.origin.hits('/behind')).toBe(0)
  })

  it.each(['h2c', 'HTTP/2.0', 'TLS/1.0', 'websocket, h2c'])('an upgrade to %s is ignored', async (protocol) => {
    const { answers } = await speak(
      shop.port,
      `GET /hit HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
      { answers: 1 },
    )
    expect(answers).toMatchObject([{ status: 200 }])
    expect(answers[0]!.body).toContain('page of /hit')
  })

  it('an unknown Host gets 421', async () => {
    const { answers } = await speak(shop.port, upgrade('websocket').replace(shop.host, 'evil.example'))
    expect(answers.map((answer) => answer.status)).toEqual([421])
  })
})

it('a page is stored even if its first visitor leaves', async () => {
  let release = () => {}
  const asked = new Promise<void>((resolve) => {
    shop.origin.on('/left', async () => {
      resolve()
      await new Promise<void>((go) => (release = go))
      return page('page of /left')
    })
  })
  const socket = connect(shop.port, '127.0.0.1')
  socket.write(get('/left'))
  await asked
  socket.destroy()
  release()
  await until(async () => isHit(await shop.ask('/left')))
  expect(shop.origin.hits('/left')).toBe(1)
})
