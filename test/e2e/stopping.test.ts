import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { parseAnswers, type WireAnswer } from '../http/front/wire.ts'
import { serveSlowly } from './slow-shop.ts'

const open = (server: object): Promise<Shop> => openShop({ config: { server: { stopGrace: '60s', ...server } } })

const sockets: Socket[] = []

afterAll(() => sockets.forEach((socket) => socket.destroy()))

interface Visitor {
  socket: Socket
  answers(): WireAnswer[]
  /** Whether the connection has ended, and whether it was reset. */
  ended: boolean
  reset: boolean
}

/** A visitor on a keep-alive connection; `next` is called for each response. */
function come(shop: Shop, next: (visitor: Visitor) => void = () => {}): Visitor {
  const socket = connect({ port: shop.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  const answers: WireAnswer[] = []
  /** The beginning of an answer. Whole ones are parsed once: a fast daemon sends thousands before a slow one of the visitors has twenty. */
  let rest = ''
  const visitor: Visitor = {
    socket,
    answers: () =>
      visitor.ended ? [...answers, ...parseAnswers(Buffer.from(rest, 'latin1'), [], true).answers] : answers,
    ended: false,
    reset: false,
  }
  socket.on('data', (chunk: Buffer) => {
    const parsed = parseAnswers(Buffer.from(rest + chunk.toString('latin1'), 'latin1'), [], false)
    rest = parsed.rest
    for (const answer of parsed.answers) {
      answers.push(answer)
      next(visitor)
    }
  })
  socket.on('end', () => {
    visitor.ended = true
    socket.end()
  })
  socket.on('error', () => (visitor.reset = true))
  socket.on('close', () => (visitor.ended = true))
  sockets.push(socket)
  return visitor
}

const get = (shop: Shop, path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`
const lastOf = (visitor: Visitor) => visitor.answers().at(-1)
const stopped = (shop: Shop) => until(async () => (await shop.ask('/readyz').catch(() => null))?.status !== 200)

/** A path that the shop answers after `open()`. */
function gate(shop: Shop, path: string) {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  shop.origin.on(path, async () => {
    await opened
    return page(`page of ${path}`, { 'cache-control': 'private' })
  })
  return { open: () => open(), asked: (times = 1) => until(() => shop.origin.hits(path) >= times) }
}

/** Asserts that each visitor's last response is complete and carries Connection: close. */
function expectLast(visitors: readonly Visitor[]): void {
  expect(
    visitors.map((visitor) => ({
      status: lastOf(visitor)?.status,
      connection: lastOf(visitor)?.headers['connection'],
      reset: visitor.reset,
    })),
  ).toEqual(visitors.map(() => ({ status: 200, connection: 'close', reset: false })))
}

/** Visitors of a daemon that is about to stop. */
interface Scene {
  visitors: readonly Visitor[]
  /** Called right after the signal. */
  signalled?(): void
  /** Called once the daemon is stopping. */
  goOn?(): void
  /** Called once the daemon has exited and all connections have ended. */
  check(): void
}

/** Sixteen clients with sequential requests. */
async function busyClients(shop: Shop, path: string): Promise<Scene> {
  await shop.ask(path)
  let unanswered = 0
  const visitors = Array.from({ length: 16 }, () =>
    come(shop, (visitor) => {
      unanswered--
      if (lastOf(visitor)!.headers['connection'] === 'close') return
      unanswered++
      visitor.socket.write(get(shop, path))
    }),
  )
  for (const { socket } of visitors) {
    unanswered++
    socket.write(get(shop, path))
  }
  await until(() => visitors.every((visitor) => visitor.answers().length > 20))
  return {
    visitors,
    check() {
      expect(unanswered).toBe(0)
      expectLast(visitors)
    },
  }
}

const scenes: Record<string, (shop: Shop) => Promise<Scene>> = {
  'pending responses carry Connection: close, whatever the body of the request; of pipelined ones, the last': async (
    shop,
  ) => {
    const slow = gate(shop, '/account/slow')
    const requests = [
      get(shop, '/account/slow'),
      `POST /account/slow HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 5\r\n\r\nhello`,
      `POST /account/slow HTTP/1.1\r\nHost: ${shop.host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      get(shop, '/account/slow?1') + get(shop, '/account/slow?2') + get(shop, '/account/slow?3'),
    ]
    const visitors = requests.map((request) => {
      const visitor = come(shop)
      visitor.socket.write(request)
      return visitor
    })
    // Of the pipelined requests the shop gets the first only, until that is answered.
    await slow.asked(requests.length)
    return {
      visitors,
      goOn: slow.open,
      check() {
        const last = [200, 'close']
        expect(
          visitors.map((visitor) => visitor.answers().map(({ status, headers }) => [status, headers['connection']])),
        ).toEqual([[last], [last], [last], [[200, 'keep-alive'], [200, 'keep-alive'], last]])
        expect(visitors.filter(({ reset }) => reset)).toEqual([])
      },
    }
  },

  'a connection with a response in progress takes one more request, answered with Connection: close': async (shop) => {
    const film = serveSlowly(shop, '/account/film')
    shop.origin.on('/account/next', page('next', { 'cache-control': 'private' }))
    const visitor = come(shop, ({ socket, answers }) => {
      if (answers().length === 1) socket.write(get(shop, '/account/next'))
    })
    visitor.socket.write(get(shop, '/account/film'))
    await until(() => visitor.socket.bytesRead > 0)
    return {
      visitors: [visitor],
      goOn: film.end,
      check() {
        expect(visitor.answers()).toMatchObject([{ status: 200 }, { status: 200, headers: { connection: 'close' } }])
        expect(visitor.reset).toBe(false)
      },
    }
  },

  'a connection with a response in progress is closed after it, although its client keeps sending': async (shop) => {
    const film = serveSlowly(shop, '/account/long-film')
    const visitor = come(shop, ({ socket, answers }) => {
      if (answers().length === 1) socket.write(get(shop, '/account/late').repeat(3))
    })
    visitor.socket.write(get(shop, '/account/long-film'))
    await until(() => visitor.socket.bytesRead > 0)
    return {
      visitors: [visitor],
      goOn: film.end,
      check() {
        expect(visitor.answers()[0]).toMatchObject({ status: 200, body: 'beginning end' })
        expect(visitor.reset).toBe(false)
      },
    }
  },

  'an upload in progress is completed': async (shop) => {
    const visitor = come(shop)
    let seen = ''
    shop.origin.on('/upload', async (_, __, incoming) => {
      for await (const chunk of incoming) seen += String(chunk)
      return { body: 'taken' }
    })
    visitor.socket.write(`POST /upload HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 10\r\n\r\n12345`)
    await until(() => seen === '12345')
    return {
      visitors: [visitor],
      goOn: () => void visitor.socket.write('67890'),
      check: () =>
        expect(visitor.answers()).toMatchObject([{ status: 200, body: 'taken', headers: { connection: 'close' } }]),
    }
  },

  'a silent tunnel is closed after its data has arrived': async (shop) => {
    shop.origin.onUpgrade((_, socket) => {
      socket
        .on('error', () => {})
        .write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.on('data', (chunk) => socket.write(`said ${String(chunk)}`)).on('end', () => socket.end())
    })
    const visitor = come(shop)
    let text = ''
    visitor.socket.on('data', (chunk) => (text += String(chunk)))
    visitor.socket.write(
      `GET /socket HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    await until(() => text.includes('101'))
    return {
      visitors: [visitor],
      signalled: () => void visitor.socket.write('hello'),
      check() {
        expect(text).toContain('said hello')
        expect(visitor.reset).toBe(false)
        expect(shop.daemon.logs()).not.toContain('were cut')
      },
    }
  },

  'clients of a cached page get complete responses, the last with Connection: close': (shop) =>
    busyClients(shop, '/page'),

  'clients of an uncached page get complete responses, the last with Connection: close': (shop) =>
    busyClients(shop, '/account/page'),
}

describe.each([{ processes: 1 }, { processes: 2 }])('on SIGTERM, with $processes', ({ processes }) => {
  let shop: Shop
  const begun = new Map<string, Scene>()

  beforeAll(async () => {
    shop = await open({ processes })
    for (const [name, begin] of Object.entries(scenes)) begun.set(name, await begin(shop))
    shop.daemon.kill('SIGTERM')
    for (const scene of begun.values()) scene.signalled?.()
    await stopped(shop)
    for (const scene of begun.values()) scene.goOn?.()
    await shop.daemon.ended
    await until(() => [...begun.values()].every(({ visitors }) => visitors.every(({ ended }) => ended)))
  })

  afterAll(() => shop?.close())

  it.each(Object.keys(scenes))('%s', async (name) => {
    begun.get(name)!.check()
    expect(await shop.daemon.ended).toBe(0)
  })

  it('a request on an idle connection is answered, and the connection is closed', async () => {
    const waiting = await open({ processes, stopDelay: '8s' })
    try {
      await waiting.ask('/page')
      const visitors = [come(waiting), come(waiting)]
      for (const { socket } of visitors) socket.write(get(waiting, '/page'))
      visitors[1]!.socket.write(get(waiting, '/account/node'))
      await until(() => visitors[0]!.answers().length === 1 && visitors[1]!.answers().length === 2)
      waiting.daemon.kill('SIGTERM')
      await stopped(waiting)
      for (const { socket } of visitors) socket.write(get(waiting, '/page'))
      await until(() => visitors.every(({ ended }) => ended))
      expectLast(visitors)
      expect(await waiting.daemon.ended).toBe(0)
    } finally {
      await waiting.close()
    }
  })
})
