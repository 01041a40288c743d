import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { read, speak } from '../http/front/wire.ts'
import { tagged } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { fill, gone, shop, useShop } from './purge-shop.ts'

useShop()

describe('BAN on a connection with others', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`
  const ban = 'BAN /nothing HTTP/1.1\r\nHost: proxy\r\n\r\n'

  it('in pieces, behind a hit, before a miss', async () => {
    await fill('/a')
    // Each request waits for the previous response: a BAN in one segment with a hit would reach Node's parser.
    const socket = connect({ port: shop.port, host: '127.0.0.1', noDelay: true })
    const reading = read(socket, { answers: 4 })
    let seen = ''
    socket.on('data', (chunk) => (seen += chunk.toString('latin1')))
    socket.write(get('/a'))
    await until(() => seen.endsWith('page with all a'))
    for (const piece of ['B', 'AN /noth', 'ing HTTP/1.1\r\nHo', 'st: proxy\r\n\r', '\n']) {
      socket.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => seen.endsWith('Banned 0 pages'))
    socket.write(get('/a') + get('/b'))
    const { answers } = await reading
    expect(answers.map((answer) => answer.body.split(' ')[0])).toEqual(['page', 'Banned', 'page', 'page'])
  })

  it.each([
    'BAN /nothing HTTP/1.1\r\nHost: proxy\r\n\r\n',
    'PURGEKEYS / HTTP/1.1\r\nHost: proxy\r\nxkey: nothing\r\n\r\n',
  ])('cut at any byte, behind a request that was not from memory: %s', async (request) => {
    const answersTo = async (pieces: string[]) => {
      const socket = connect({ port: shop.port, host: '127.0.0.1', noDelay: true })
      const reading = read(socket, { answers: 2 })
      let seen = ''
      socket.on('data', (chunk) => (seen += chunk.toString('latin1')))
      socket.write(get('/checkout'))
      await until(() => seen.includes('page with all checkout'))
      for (const piece of pieces) {
        socket.write(piece)
        await new Promise((resolve) => setImmediate(resolve))
      }
      return (await reading).answers.map(({ status, body }) => [status, body])
    }
    const whole = await answersTo([request])
    expect(whole[1]![0]).toBe(200)
    for (let at = 1; at < request.length; at++)
      expect([at, await answersTo([request.slice(0, at), request.slice(at)])]).toEqual([at, whole])
    expect(await answersTo(request.split(''))).toEqual(whole)
  })

  it('what only ends like one is none: the bytes before the cut count', async () => {
    await fill('/kept')
    for (const pieces of [
      ['UNB', 'AN / HTTP/1.1\r\nHost: proxy\r\n\r\n'],
      ['D', 'AN / HTTP/1.1\r\nHost: proxy\r\n\r\n'],
      [
        `POST /form HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 1\r\n\r\nB`,
        'AN / HTTP/1.1\r\nHost: proxy\r\n\r\n',
      ],
    ]) {
      const { answers, closed } = await speak(shop.port, [get('/checkout'), ...pieces])
      expect([answers.at(-1)!.status, closed]).toEqual([400, true])
    }
    expect(await gone('/kept')).toEqual([])
  })

  it('pipelined: responses come in order, and later requests are answered too', async () => {
    await fill('/a')
    const { answers } = await speak(shop.port, ban + get('/a') + get('/b'), { answers: 3 })
    expect(answers.map((answer) => answer.body.split(' ')[0])).toEqual(['Banned', 'page', 'page'])
    expect(answers[2]!.body).toBe('page with all b')
  })

  it('a BAN with Connection: close, or a rejected one, is the last on its connection', async () => {
    await fill('/a')
    for (const [last, status] of [
      [ban.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), 200],
      [ban.replace('/nothing', '/('), 400],
    ] as const) {
      const { answers, closed } = await speak(shop.port, [get('/a'), last + get('/a'), get('/a')])
      expect(answers.map((answer) => answer.status)).toEqual([200, status])
      expect(closed).toBe(true)
    }
  })

  it('waits for the response to an earlier request, and nothing behind it is executed if it is the last on its connection', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    shop.origin.on('/slow', async () => {
      await promise
      return tagged('slow')
    })
    const last = get('/never').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    const speaking = speak(shop.port, [get('/slow'), 'BAN /noth', 'ing HTTP/1.1\r\nHost: proxy\r\n\r\n', last])
    await until(() => shop.origin.hits('/slow') === 1)
    resolve()
    const { answers, closed } = await speaking
    // Node's server closes the connection after it; on the socket the next request is answered.
    const isLast = answers[1]!.headers['connection'] === 'close'
    expect(answers.map((answer) => answer.body.split(' ')[0])).toEqual(['page', 'Banned', ...(isLast ? [] : ['page'])])
    expect(closed).toBe(true)
    expect(shop.origin.hits('/never')).toBe(isLast ? 0 : 1)
  })

  it.each([
    ['a body', 'BAN / HTTP/1.1\r\nHost: proxy\r\nContent-Length: 40\r\n\r\n'],
    ['chunks', 'BAN / HTTP/1.1\r\nHost: proxy\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['line feeds alone', 'BAN / HTTP/1.1\nHost: proxy\n\n'],
    ['a folded field', 'BAN / HTTP/1.1\r\nHost: proxy\r\nX: a\r\n b\r\n\r\n'],
    [
      'UNBAN behind a request',
      'POST /form HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\nabUNBAN / HTTP/1.1\r\nHost: proxy\r\n\r\n',
    ],
  ])('%s: nothing is purged, and a request hidden in it is not executed', async (_, head) => {
    await fill('/kept')
    const { answers, closed } = await speak(shop.port, `${head.replace('HOST', shop.host)}${get('/smuggled')}`)
    expect(answers.at(-1)!.status).toBe(400)
    expect(closed).toBe(true)
    expect(shop.origin.hits('/smuggled')).toBe(0)
    expect(await gone('/kept')).toEqual([])
  })
})

it('a BAN with an incomplete head gets 408 and is closed', async () => {
  const socket = connect(shop.port, '127.0.0.1')
  socket.write('BAN / HTTP/1.1\r\nHost: pro')
  const { answers, closed } = await read(socket)
  expect(answers[0]!.status).toBe(408)
  expect(closed).toBe(true)
})
