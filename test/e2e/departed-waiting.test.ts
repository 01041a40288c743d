import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { until } from '../helpers/until.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

/** A daemon whose shop takes one request at a time, and works on one that ends with `release`. */
async function openBusyShop() {
  const shop = await startOrigin({ otherwise: { body: 'page' } })
  onTestFinished(() => shop.stop())
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  shop.on('/account/slow', async () => {
    await released
    return { body: 'slow' }
  })
  const upgrades: string[] = []
  shop.onUpgrade(({ url }, socket) => {
    upgrades.push(url!)
    socket.destroy()
  })
  const daemon = await startDaemon({
    config: (url) => ({
      salesChannels: [{ id, url, origin: shop.url }],
      origin: { maxConcurrent: 1, queue: 3, queueTimeout: '10m' },
    }),
  })
  onTestFinished(async () => void (await daemon.stop()))
  const slow = fetch(`${daemon.url}/account/slow`)
  await until(() => expect(shop.requests).toHaveLength(1))
  const waiting = async () => {
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text()
    return Number(/^pagecache_origin_waiting\S* (\d+)$/m.exec(metrics)![1])
  }
  return { daemon, shop, upgrades, slow, release, waiting }
}

/** Closes three connections: at once, by a reset, and after everything was sent. */
function leave([first, second, third]: Socket[]): void {
  first!.destroy()
  second!.resetAndDestroy()
  third!.end()
}

it('visitors who leave while their upgrade requests wait for the shop leave the queue', async () => {
  const { daemon, upgrades, slow, release, waiting } = await openBusyShop()
  const request = `GET /socket HTTP/1.1\r\nHost: ${daemon.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  const sockets = [0, 1, 2].map(() => connect(daemon.port, '127.0.0.1').on('error', () => {}))
  for (const socket of sockets) socket.write(request)
  await until(async () => expect(await waiting()).toBe(3))
  leave(sockets)
  await until(async () => expect(await waiting()).toBe(0))
  release()
  expect((await slow).status).toBe(200)
  expect(upgrades).toEqual([])
})

const inChunks: [name: string, send: (socket: Socket, get: (path: string) => string) => unknown][] = [
  ['one request', (socket, get) => socket.write(get('/page'))],
  ['two requests at once', (socket, get) => socket.write(get('/page') + get('/second'))],
  ['another request meanwhile', (socket, get) => socket.write(get('/page'), () => socket.write(get('/second')))],
]
it.each(inChunks)('visitors who leave while their pages wait for the shop leave the queue: %s', async (_, send) => {
  const { daemon, shop, slow, release, waiting } = await openBusyShop()
  const sockets = [0, 1, 2].map(() => connect(daemon.port, '127.0.0.1').on('error', () => {}))
  for (const [index, socket] of sockets.entries())
    send(socket, (path) => `GET ${path}${index} HTTP/1.1\r\nHost: ${daemon.host}\r\n\r\n`)
  await until(async () => expect(await waiting()).toBe(3))
  leave(sockets)
  await until(async () => expect(await waiting()).toBe(0))
  release()
  expect((await slow).status).toBe(200)
  expect(shop.requests).toHaveLength(1)
  expect(daemon.logs()).not.toMatch(/"level":"(?!info)/)
})

it('an upgrade request that the shop does not answer ends after origin.headersTimeout', async () => {
  const shop = await startOrigin()
  onTestFinished(() => shop.stop())
  const asked = Promise.withResolvers<void>()
  shop.onUpgrade(() => asked.resolve())
  const daemon = await startDaemon({
    config: (url) => ({ salesChannels: [{ id, url, origin: shop.url }], origin: { headersTimeout: '1s' } }),
  })
  onTestFinished(async () => void (await daemon.stop()))
  const socket = connect(daemon.port, '127.0.0.1')
  socket.write(`GET /socket HTTP/1.1\r\nHost: ${daemon.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  await asked.promise
  // Half of the limit that applied before, whatever was configured.
  const answer = await Promise.race([once(socket, 'data'), pause(15_000, ['nothing'])])
  expect(String(answer[0])).toMatch(/^HTTP\/1\.1 504 /)
  socket.destroy()
})
