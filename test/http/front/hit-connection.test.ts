import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { serveHitsFirst, type HitOptions } from '../../../src/http/front/hit-connection.ts'
import { read } from './wire.ts'

/** One that Node's server answers. */
const request = 'GET /a HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\n\r\n'

/** A server with an empty memory. */
async function open(): Promise<{ server: Server; closeIdle(quiet: number): void; visit(): Promise<Socket> }> {
  const server = createServer((_, response) => response.end('answered'))
  const front = {
    cache: { hot: { find: () => null } },
    isTrusted: () => false,
    accessLog: null,
    onError: () => {},
  } as unknown as HitOptions['front']
  const { closeIdle } = serveHitsFirst(server, {
    front,
    parsed: () => {},
    pipelines: { hasAnswered: () => false, touch: () => {} },
    silence: 60_000,
    idle: 60_000,
    stall: 60_000,
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  return {
    server,
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
