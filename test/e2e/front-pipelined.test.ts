import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, until, type Shop } from '../http/shop.ts'
import { speak } from '../http/wire.ts'

describe('requests that are sent before the ones in front of them are answered', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop({ config: { stages: { rateLimit: { perAddress: null, perStage: null, total: null } } } })
    await shop.ask('/page')
  })
  afterAll(() => shop.close())

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`

  test('thirty at once are answered in order, and the connection goes on', async () => {
    const paths = Array.from({ length: 30 }, (_, number) => `/page-${number}`)
    const { answers, closed } = await speak(shop.port, [paths.map(get).join(''), get('/page')], { answers: 31 })
    expect(answers.map(({ body }) => /page of (\S+)$/.exec(body)?.[1])).toEqual([...paths, '/page'])
    expect(closed).toBe(false)
  })

  test('of more the first are answered, and the last of them says that it is the last', async () => {
    const { answers, closed, rest } = await speak(shop.port, Array.from({ length: 50 }, (_, number) => get(`/more-${number}`)).join(''))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200))
    expect(answers.map(({ headers }) => headers['connection'] === 'close')).toEqual(Array.from({ length: 32 }, (_, number) => number === 31))
    expect([closed, rest]).toEqual([true, ''])
  })

  const event = () => {
    const body = JSON.stringify({ popupId: '0190c0de-0000-7000-8000-00000000dead', eventType: 'close' })
    return `POST /vendor-stage/track HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }

  /** A hundred clients who send so many requests and read no answer, until each is cut. */
  async function flood(request: string): Promise<void> {
    const sockets = Array.from({ length: 100 }, () => connect(shop.port, '127.0.0.1'))
    for (const socket of sockets) {
      socket.pause()
      socket.on('error', () => {})
      socket.write(Buffer.from(request.repeat(2000)))
    }
    // Who reads nothing sees it when he writes.
    await until(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('G')
      return sockets.every(({ destroyed }) => destroyed)
    })
  }

  test.each([['events', event], ['pages', () => get('/page')]])('a flood of %s from clients who read no answer: they are cut, and others are served', async (_, request) => {
    const flooding = flood(request())
    expect((await shop.ask('/healthz')).status).toBe(200)
    await flooding
    expect((await shop.ask('/page')).status).toBe(200)
  }, 60_000)
})
