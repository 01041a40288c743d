import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { speak } from '../http/front/wire.ts'

describe('pipelined requests', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop({ config: { stages: { rateLimit: { perAddress: null, perStage: null, total: null } } } })
    await shop.ask('/page')
  })
  afterAll(() => shop.close())

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`

  it('thirty are answered in order, and the connection stays open', async () => {
    const paths = Array.from({ length: 30 }, (_, number) => `/page-${number}`)
    const { answers, closed } = await speak(shop.port, [paths.map(get).join(''), get('/page')], { answers: 31 })
    expect(answers.map(({ body }) => /page of (\S+)$/.exec(body)?.[1])).toEqual([...paths, '/page'])
    expect(closed).toBe(false)
  })

  it('32 of fifty are answered, the last one with Connection: close', async () => {
    const { answers, closed, rest } = await speak(
      shop.port,
      Array.from({ length: 50 }, (_, number) => get(`/more-${number}`)).join(''),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200))
    expect(answers.map(({ headers }) => headers['connection'] === 'close')).toEqual(
      Array.from({ length: 32 }, (_, number) => number === 31),
    )
    expect([closed, rest]).toEqual([true, ''])
  })

  it('a request starts once the client has received the answer before it', async () => {
    shop.origin.on('/film', { headers: { 'cache-control': 'private' }, body: Buffer.alloc(64 << 20, 'film') })
    const socket = connect({ port: shop.port, host: '127.0.0.1' })
    socket.write(get('/film') + get('/checkout/behind'))
    await once(socket, 'readable')
    // The daemon serves others meanwhile, so the pipelined request really waits.
    for (let count = 0; count < 20; count++) expect((await shop.ask(`/checkout/${count}`)).status).toBe(200)
    expect(shop.origin.hits('/checkout/behind')).toBe(0)
    const seen: Buffer[] = []
    socket.on('data', (chunk) => seen.splice(0, Math.max(0, seen.length - 1), chunk as Buffer))
    await until(() => Buffer.concat(seen).includes('page of /checkout/behind'))
    socket.destroy()
  })

  it('requests of a client that has left never reach the shop', async () => {
    const own = await openShop()
    try {
      const { promise: asked, resolve: notify } = Promise.withResolvers<void>()
      own.origin.on('/silent', async (_, __, incoming) => {
        notify()
        await once(incoming.socket, 'close')
        return undefined
      })
      const socket = connect({ port: own.port, host: '127.0.0.1' })
      socket.write(
        ['/checkout/0', '/silent', '/checkout/1', '/checkout/2']
          .map(
            (path) =>
              `GET ${path} HTTP/1.1\r\nHost: ${own.host}\r\nCookie: session-=1\r\nCache-Control: no-store\r\n\r\n`,
          )
          .join(''),
      )
      await asked
      socket.destroy()
      await own.ask('/checkout/3')
      expect([own.origin.hits('/checkout/0'), own.origin.hits('/checkout/1'), own.origin.hits('/checkout/2')]).toEqual([
        1, 0, 0,
      ])
    } finally {
      await own.close()
    }
  })

  const event = () => {
    const body = JSON.stringify({ popupId: '0190c0de-0000-7000-8000-00000000dead', eventType: 'close' })
    return `POST /vendor-stage/track HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }

  /** Has a hundred clients send requests and read no answer until each is cut. */
  async function flood(request: string): Promise<void> {
    const sockets = Array.from({ length: 100 }, () => connect(shop.port, '127.0.0.1'))
    for (const socket of sockets) {
      socket.pause()
      socket.on('error', () => {})
      socket.write(Buffer.from(request.repeat(2000)))
    }
    // A client that does not read notices the cut when it writes.
    await until(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('G')
      return sockets.every(({ destroyed }) => destroyed)
    })
  }

  it.each([
    ['events', event],
    ['pages', () => get('/page')],
  ])('clients that flood %s and read no answer are cut, and others are served', async (_, request) => {
    const flooding = flood(request())
    expect((await shop.ask('/healthz')).status).toBe(200)
    await flooding
    expect((await shop.ask('/page')).status).toBe(200)
  })
})
