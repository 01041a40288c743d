import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { childrenOf, isGone } from '../helpers/processes.ts'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { read } from '../http/front/wire.ts'

async function open(server: Record<string, unknown>): Promise<Shop> {
  const shop = await openShop({ config: { server }, args: ['--origin', 'http://127.0.0.1:1', '--no-workers'] })
  onTestFinished(() => shop.close())
  return shop
}

async function connectTo(shop: Shop): Promise<Socket> {
  const socket = connect(shop.port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Connects visitors and sends their requests. A status is `null` for a visitor without an answer. */
async function ask(shop: Shop, count: number): Promise<{ statuses: Promise<(number | null)[]> }> {
  const sockets = await Promise.all(Array.from({ length: count }, () => connectTo(shop)))
  const statuses = sockets.map(async (socket) => {
    socket.write(`GET /healthz HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`)
    return (await read(socket)).answers[0]?.status ?? null
  })
  return { statuses: Promise.all(statuses) }
}

const allAnswered = (count: number) => Array.from({ length: count }, () => 200)

const refuses = (shop: Shop) =>
  connectTo(shop).then(
    (socket) => (socket.destroy(), false),
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  )

/** Freezes processes of a daemon, sends requests, and tells it to stop; it accepts no connection any more. */
async function stopFrozen(shop: Shop, frozen: readonly number[]): Promise<{ statuses: Promise<(number | null)[]> }> {
  for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  const { statuses } = await ask(shop, 12)
  shop.daemon.kill('SIGTERM')
  await until(() => refuses(shop))
  return { statuses }
}

describe('visitors who connected before the daemon was told to stop', () => {
  it.each([{ processes: 1 }, { processes: 2 }])(
    'are answered from the backlog, with $processes processes',
    async ({ processes }) => {
      const shop = await open({ processes })
      process.kill(shop.daemon.pid, 'SIGSTOP')
      const { statuses } = await ask(shop, 12)
      process.kill(shop.daemon.pid, 'SIGTERM')
      process.kill(shop.daemon.pid, 'SIGCONT')
      expect(await statuses).toEqual(allAnswered(12))
      expect(await shop.daemon.ended).toBe(0)
    },
  )

  it('are answered when a process is free, and new connections are rejected', async () => {
    const shop = await open({ processes: 2 })
    const children = await childrenOf(shop.daemon.pid)
    const { statuses } = await stopFrozen(shop, children)
    for (const pid of children) process.kill(pid, 'SIGCONT')
    expect(await statuses).toEqual(allAnswered(12))
    expect(await shop.daemon.ended).toBe(0)
  })

  it('are answered by another process if one dies meanwhile', async () => {
    const shop = await open({ processes: 2 })
    const [first, second] = await childrenOf(shop.daemon.pid)
    const { statuses } = await stopFrozen(shop, [first!, second!])
    process.kill(first!, 'SIGKILL')
    await until(() => isGone(first!))
    process.kill(second!, 'SIGCONT')
    expect(await statuses).toEqual(allAnswered(12))
    expect(await shop.daemon.ended).toBe(0)
  })

  it('are answered by a new process if all have died', async () => {
    const shop = await open({ processes: 2 })
    const children = await childrenOf(shop.daemon.pid)
    const { statuses } = await stopFrozen(shop, children)
    for (const pid of children) process.kill(pid, 'SIGKILL')
    expect(await statuses).toEqual(allAnswered(12))
    expect(await shop.daemon.ended).toBe(0)
  })

  it('are answered if every process received the signal', async () => {
    const shop = await open({ processes: 2 })
    const children = await childrenOf(shop.daemon.pid)
    for (const pid of children) process.kill(pid, 'SIGTERM')
    const { statuses } = await stopFrozen(shop, children)
    for (const pid of children) process.kill(pid, 'SIGCONT')
    expect(await statuses).toEqual(allAnswered(12))
    expect(await shop.daemon.ended).toBe(0)
  })
})

describe('visitors who connect while the daemon is stopping', { concurrent: true }, () => {
  it.each([{ processes: 1 }, { processes: 2 }])(
    'are answered during server.stopDelay, with $processes processes',
    async ({ processes }) => {
      const shop = await open({ processes, stopDelay: '15s' })
      shop.daemon.kill('SIGTERM')
      // Requests go to the processes in turns; all must report not ready.
      for (let notReady = 0; notReady < processes;)
        notReady = (await shop.ask('/readyz')).status === 503 ? notReady + 1 : 0
      expect(await (await ask(shop, 12)).statuses).toEqual(allAnswered(12))
      expect(await shop.daemon.ended).toBe(0)
    },
  )
})
