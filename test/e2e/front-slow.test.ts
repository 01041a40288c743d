import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { read, type Spoken } from '../http/front/wire.ts'
import { openShop, watchMemory, type Shop } from '../http/api/shop.ts'

let shop: Shop
const dripping = new Set<NodeJS.Timeout>()
beforeAll(async () => {
  shop = await openShop()
})
afterAll(async () => {
  for (const timer of dripping) clearInterval(timer)
  await shop.close()
})

const MiB = 1024 * 1024

/** Sends a text at once and then one byte per second until the connection closes. */
function drip(text: string, bytes: string): Promise<Spoken> {
  const socket = connect(shop.port, '127.0.0.1')
  socket.write(text)
  let at = 0
  const timer = setInterval(() => bytes !== '' && socket.write(bytes.charAt(at++ % bytes.length)), 1000)
  dripping.add(timer)
  socket.once('close', () => clearInterval(timer))
  return read(socket)
}

const head = () => `GET / HTTP/1.1\r\nHost: ${shop.host}\r\n`
const post = () => `POST /form HTTP/1.1\r\nHost: ${shop.host}\r\n`

/** Kinds of slow clients and their answers. The timeout of the test proves that each is cut eventually. */
const slow: Record<string, { open(): Promise<Spoken>; statuses: number[] }> = {
  'sends nothing': { open: () => drip('', ''), statuses: [408] },
  'sends a request line at one byte a second': { open: () => drip('', `GET /${'a'.repeat(100)}`), statuses: [408] },
  'sends fields at one byte a second': { open: () => drip(head(), 'X-Slow: abc\r\n'), statuses: [408] },
  'sends an endless field': { open: () => drip(`${head()}X-Slow: `, 'a'), statuses: [408] },
  'sends empty lines and no request': { open: () => drip('\r\n', '\r\n'), statuses: [408] },
  'sends a body at one byte a second': {
    open: () => drip(`${post()}Content-Length: 1000\r\n\r\n`, 'a'),
    statuses: [408],
  },
  'sends chunks at one byte a second': {
    open: () => drip(`${post()}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n'),
    statuses: [408],
  },
  'announces a body and sends none': { open: () => drip(`${post()}Content-Length: 1000\r\n\r\n`, ''), statuses: [408] },
}

describe('slow clients get 408 and are cut', { concurrent: true }, () => {
  it.each(Object.entries(slow))('one that %s', async (_, { open, statuses }) => {
    shop.origin.on('/form', async (__, ___, incoming) => {
      incoming.resume()
      await once(incoming, 'end')
      return { body: 'taken' }
    })
    const { answers, rest, closed } = await open()
    expect(answers.map((answer) => answer.status)).toEqual(statuses)
    expect({ rest, closed }).toEqual({ rest: '', closed: true })
  })

  it('500 slow clients do not block the daemon, and all are cut', async () => {
    const sockets = Array.from({ length: 500 }, (_, index) => {
      const socket = connect(shop.port, '127.0.0.1')
      socket.on('error', () => {})
      if (index % 3 === 1) socket.write(head())
      if (index % 3 === 2) socket.write('G')
      return socket
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const closed = sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)))
    for (let count = 0; count < 20; count++) expect((await exchange(`${shop.daemon.url}/healthz`)).status).toBe(200)
    await Promise.all(closed)
  })

  it('a silent connection is closed', async () => {
    // Holds for connections of the hit path and of Node's server.
    const socket = connect(shop.port, '127.0.0.1')
    socket.write(`POST /form HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Length: 0\r\n\r\n`)
    await once(socket, 'data')
    socket.resume()
    const ended = new Promise((resolve) => socket.once('close', resolve))
    await ended
  })
})

describe('200 clients that barely read a large answer', { concurrent: true }, () => {
  const large = (seed: number) => Buffer.alloc(12 * MiB, `${seed} 0123456789abcdef`)

  it.each([
    ['stored', 64, { 'content-type': 'application/octet-stream', 'cache-control': 'public, max-age=600' }],
    ['passed through', 64, { 'content-type': 'application/octet-stream', 'cache-control': 'private' }],
  ])('%s: memory grows by less than %i MB, and the clients are cut', async (_, limit, headers) => {
    const own = await openShop()
    try {
      const body = large(1)
      own.origin.on('/large', { headers, body })
      await own.ask('/large')
      // Warm up the heap and the compiler first, so that the growth measured below is due to the readers.
      for (let count = 0; count < 10; count++)
        await Promise.all(Array.from({ length: 50 }, (_, index) => own.ask(`/checkout/${index}`)))
      const growth = await watchMemory(own.daemon.pid)
      const sockets = await Promise.all(Array.from({ length: 200 }, () => readLittle(own.port, own.host)))
      const open = new Set<Socket>(sockets)
      for (const socket of sockets) socket.once('close', () => open.delete(socket))
      await cut(own)
      expect((await growth()) / MiB).toBeLessThan(limit)
      expect((await own.ask('/healthz')).status).toBe(200)
      for (const socket of open) socket.destroy()
    } finally {
      await own.close()
    }
  })
})

describe('readers of more stored pages than fit into memory', { concurrent: true }, () => {
  const pages = 60
  const paths = Array.from({ length: pages }, (_, number) => `/many-${number}`)

  /** Stores the pages, which also warms up the daemon's memory. */
  async function openMany(): Promise<Shop> {
    const own = await openShop()
    for (const [number, path] of paths.entries()) {
      own.origin.on(path, {
        headers: { 'content-type': 'application/octet-stream', 'cache-control': 'public, max-age=600' },
        body: Buffer.alloc(5 * MiB, `${number} 0123456789abcdef`),
      })
      await own.ask(path)
    }
    return own
  }

  it('20 clients with 30 requests each and 200 with one: memory grows by less than 192 MB, and others are served', async () => {
    const own = await openMany()
    try {
      const growth = await watchMemory(own.daemon.pid)
      const asked = own.origin.hits()
      const readers = [...Array.from({ length: 20 }, () => 30), ...Array.from({ length: 200 }, () => 1)]
      const wanted = (reader: number, requests: number) =>
        Array.from({ length: requests }, (_, number) => paths[(reader * requests + number) % pages]!)
      const sockets = await Promise.all(
        readers.map((requests, reader) => readLittle(own.port, own.host, wanted(reader, requests))),
      )
      await cut(own, async () => expect((await own.ask('/healthz')).status).toBe(200))
      // The clients want four gigabytes. On a busy machine garbage is collected late.
      expect((await growth()) / MiB).toBeLessThan(192)
      expect(own.origin.hits()).toBe(asked)
      expect((await own.ask(paths[0]!)).body.length).toBe(5 * MiB)
      for (const socket of sockets) socket.destroy()
    } finally {
      await own.close()
    }
  })
})

/** Requests large answers and reads only the beginning of the first one. */
async function readLittle(port: number, host: string, paths: readonly string[] = ['/large']): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1024), callback: () => false } })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(''))
  return socket
}

/** Waits until almost all connections of a shop have been closed. It takes a minute, and the kernel's table is large: it is read once a second. */
async function cut(shop: Shop, meanwhile = async () => {}): Promise<void> {
  while ((await connectionsOf(shop.port)) >= 5) {
    await meanwhile()
    await pause(1000)
  }
}

/** Counts the established connections to a port in the kernel's table. */
async function connectionsOf(port: number): Promise<number> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/))
  return lines.filter((fields) => fields[1]?.endsWith(local) && fields[3] === '01').length
}
