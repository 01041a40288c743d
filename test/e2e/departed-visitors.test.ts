import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

type Leaving = 'closes' | 'resets' | 'half-closes'
const leavings: Leaving[] = ['closes', 'resets', 'half-closes']

function leave(socket: Socket, how: Leaving): void {
  if (how === 'closes') socket.destroy()
  else if (how === 'resets') socket.resetAndDestroy()
  else socket.end()
}

/** A visitor that has sent this text. Its connection can be half-closed. */
function visit(bytes: string): Socket {
  const socket = connect({ port: shop.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {}).resume()
  socket.write(bytes)
  onTestFinished(() => void socket.destroy())
  return socket
}

const request = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: ${shop.host}\r\n${more}\r\n`
const upgrade = () => request('GET /socket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')

let seen = 0
beforeEach(() => void (seen = shop.daemon.logs().length))

/** Log lines that report a problem. */
const complaints = () =>
  shop.daemon
    .logs()
    .slice(seen)
    .split('\n')
    .filter((line) => /"level":"(?!info)/.test(line) || /^\s+at /.test(line))

/** Resolves when the shop has no open connection for this path. */
const shopIsFree = (path: string) => until(() => !open.has(path))
const open = new Set<string>()

/** Makes the shop answer a path with these bytes and then send nothing more. */
function silentAfter(path: string, bytes: string): { asked(): Promise<void> } {
  shop.origin.raw(path, (socket) => {
    open.add(path)
    socket.once('close', () => open.delete(path))
    if (bytes !== '') socket.write(bytes)
  })
  return { asked: async () => void (await until(() => open.has(path))) }
}

const streaming = 'HTTP/1.1 200 OK\r\nCache-Control: private\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'
const cases: [name: string, path: string, line: string, more: string, answer: string][] = [
  ['waits for a passed-through GET', '/account/wait', 'GET /account/wait', '', ''],
  ['waits for a POST', '/post', 'POST /post', 'Content-Length: 2\r\n\r\nok', ''],
  ['is sending an upload', '/upload', 'POST /upload', 'Content-Length: 100000\r\n\r\nbeginning', ''],
  ['is sending a chunked upload', '/chunks', 'POST /chunks', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', ''],
  ['is receiving a download', '/account/film', 'GET /account/film', '', streaming],
  ['is receiving a private page', '/private', 'GET /private', '', streaming],
]

describe.each(leavings)('a visitor who %s', (how) => {
  it.each(cases)('where it %s: nothing is logged, and the shop is free', async (_, path, line, more, answer) => {
    const own = `${path}-${how}`
    const { asked } = silentAfter(own, answer)
    const [fields = '', sent = ''] = more.split('\r\n\r\n', 2)
    const socket = visit(`${request(line.replace(path, own), fields === '' ? '' : `${fields}\r\n`)}${sent}`)
    await asked()
    if (answer !== '') await until(() => socket.bytesRead > 0)
    leave(socket, how)
    await shopIsFree(own)
    expect(complaints()).toEqual([])
  })

  it('where it has asked for several things at once', async () => {
    const own = `/account/several-${how}`
    const { asked } = silentAfter(own, '')
    const socket = visit(
      request(`GET ${own}`) + request('GET /account/second') + request('POST /third', 'Content-Length: 5\r\n') + 'half',
    )
    await asked()
    leave(socket, how)
    await shopIsFree(own)
    expect(complaints()).toEqual([])
  })

  it('where it has asked for something else meanwhile', async () => {
    const own = `/account/meanwhile-${how}`
    const { asked } = silentAfter(own, '')
    const socket = visit(request(`GET ${own}`))
    await asked()
    socket.write(request('GET /account/second'))
    await pause(50)
    leave(socket, how)
    await shopIsFree(own)
    expect(complaints()).toEqual([])
  })

  it.each([
    ['where it waits for the shop to upgrade', ''],
    [
      'in a tunnel to a silent shop',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['in an answer to an upgrade that the shop declined', streaming],
  ])('%s', async (_, answer) => {
    let held: Duplex | null = null
    shop.origin.onUpgrade((_, socket) => {
      held = socket
        .on('error', () => {})
        .once('end', () => held?.destroy())
        .once('close', () => (held = null))
        .resume()
      if (answer !== '') held.write(answer)
    })
    const socket = visit(upgrade())
    await until(() => (answer === '' ? held !== null : socket.bytesRead > 0))
    leave(socket, how)
    await until(() => held === null)
    expect(complaints()).toEqual([])
  })

  it.each([
    'POST /vendor-stage/track',
    'POST /api/oauth/token',
    'POST /api/_action/vendor-cache/purge',
    'PURGE /page',
    'GET /admin',
    'GET /vendor-stage/client.js',
    'GET /metrics',
  ])('during %s', async (line) => {
    const socket = visit(request(line, 'Content-Type: application/json\r\nContent-Length: 1000\r\n') + '{"half')
    await shop.ask('/healthz')
    leave(socket, how)
    await shop.ask('/healthz')
    expect(complaints()).toEqual([])
  })
})

it('a shop that closes a tunnel closes the connection of its visitor', async () => {
  shop.origin.onUpgrade(
    (_, socket) =>
      void socket.end(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nlast words',
      ),
  )
  const socket = visit(upgrade())
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  await until(() => socket.destroyed || socket.readableEnded)
  expect(text).toContain('last words')
})
