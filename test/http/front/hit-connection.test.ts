import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi, type Mock } from 'vitest'
import { serveHitsFirst, type HitOptions } from '../../../src/http/front/hit-connection.ts'
import type { HotPath } from '../../../src/cache/hot.ts'
import type { View } from '../../../src/cache/hot-views.ts'
import { read } from './wire.ts'

/** One that Node's server answers. */
const request = 'GET /a HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\n\r\n'

interface Front {
  server: Server
  find: Mock<HotPath['find']>
  drain(): void
  closeIdle(quiet: number): void
  visit(): Promise<Socket>
}

/** A server with one page in memory, or an empty one. `patience`: how long it keeps silent connections, in milliseconds. */
async function open(view: View | null = null, patience = 60_000): Promise<Front> {
  const server = createServer((_, response) => response.end('answered'))
  const find = vi.fn<HotPath['find']>(() => view)
  const front = {
    cache: { hot: { find, count: () => {} }, classifying: { channels: { find: () => null } } },
    traffic: { count: () => {} },
    isTrusted: () => false,
    accessLog: null,
    onError: () => {},
  } as unknown as HitOptions['front']
  const { drain, closeIdle } = serveHitsFirst(server, {
    front,
    parsed: () => {},
    pipelines: { hasAnswered: () => true, touch: () => {} },
    silence: patience,
    idle: patience,
    stall: 60_000,
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  return {
    server,
    find,
    drain,
    closeIdle,
    /** Connects; resolves when the server has accepted the connection. */
    visit: async () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      await once(server, 'connection')
      onTestFinished(() => void socket.destroy())
      return socket
    },
  }
}

describe('closing idle connections', () => {
  it('keeps a new connection, and answers its request', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { closeIdle, visit } = await open()
    const socket = await visit()
    closeIdle(1000)
    socket.write(request)
    const { answers } = await read(socket, { answers: 1 })
    expect(answers).toMatchObject([{ status: 200, body: 'answered' }])
  })

  it('closes a connection that was silent for a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { closeIdle, visit } = await open()
    const socket = await visit()
    vi.advanceTimersByTime(1001)
    closeIdle(1000)
    expect(await read(socket)).toMatchObject({ answers: [], closed: true })
  })
})

const view = { status: 200, headers: [['Content-Length', '4']], body: Buffer.from('page'), entry: null }
const hit = 'GET /a HTTP/1.1\r\nHost: shop.example\r\n\r\n'

it('a request began before its turn if nothing was unread on its connection', async () => {
  const { server, find, visit } = await open(view as unknown as View)
  const say = async (socket: Socket, text: string) => {
    socket.write(text)
    await once(socket, 'data')
    return find.mock.calls.map(([, beganEarlier]) => beganEarlier)
  }
  const socket = await visit()
  expect(await say(socket, hit)).toEqual([true])
  expect(await say(socket, hit)).toEqual([true, true])
  // Node's server has the connection from then on.
  expect(await say(socket, request)).toEqual([true, true])
  expect(await say(socket, hit)).toEqual([true, true, false])
  // What came with a PROXY header is put back.
  server.prependOnceListener('connection', (accepted: Socket) => accepted.unshift(hit))
  await once(await visit(), 'data')
  expect(find).toHaveBeenLastCalledWith(expect.anything(), false)
})

describe('silent connections', () => {
  const patience = 100

  function block(ms: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  }

  it('are refused, or closed after an answer', async () => {
    const { visit } = await open(view as unknown as View, patience)
    const [silent, answered] = [await visit(), await visit()]
    answered.write(hit)
    expect(await read(silent)).toMatchObject({ answers: [{ status: 408 }], closed: true })
    expect(await read(answered)).toMatchObject({ answers: [{ status: 200, body: 'page' }], closed: true })
  })

  it('are those whose request has not arrived, not those that a busy daemon has not read', async () => {
    const { visit } = await open(view as unknown as View, patience)
    const socket = await visit()
    for (let request = 0; request < 2; request++) {
      socket.write(hit)
      block(2 * patience)
      const [answer] = await Promise.race(['data', 'close'].map((event) => once(socket, event)))
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\npage$/)
    }
  })
})

describe('a daemon that stops sends a whole page to a visitor who reads slowly', () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'x')
  const view = { status: 200, headers: [['Content-Length', String(body.length)]], body, entry: null } as unknown as View

  it.each(['before', 'after'])('who has asked %s the signal', async (when) => {
    const { drain, closeIdle, visit } = await open(view)
    const socket = await visit()
    socket.pause()
    if (when === 'after') drain()
    socket.write(hit)
    await pause(700)
    if (when === 'before') drain()
    closeIdle(500)
    await pause(700)
    let received = 0
    socket
      .on('data', (chunk) => (received += chunk.length))
      .on('error', () => {})
      .resume()
    await once(socket, 'close')
    expect(received).toBeGreaterThan(body.length)
  })
})
