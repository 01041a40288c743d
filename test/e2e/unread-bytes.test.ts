import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { childrenOf, isGone } from '../helpers/processes.ts'
import { until } from '../helpers/until.ts'
import type { Shop } from '../http/api/shop.ts'
import { parseAnswers, type WireAnswer } from '../http/front/wire.ts'
import { open } from './slow-shop.ts'

/** A connection that stays open. */
interface Line {
  socket: Socket
  /** The next answers. */
  receive(count: number): Promise<WireAnswer[]>
}

async function openLine(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  onTestFinished(() => void socket.destroy())
  // A process that was replaced took its connections with it.
  socket.on('error', () => {})
  let bytes = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])))
  return {
    socket,
    receive: async (count) => {
      let answers: WireAnswer[] = []
      await until(() => (answers = parseAnswers(bytes, [], false).answers).length >= count, 2)
      bytes = Buffer.alloc(0)
      return answers
    },
  }
}

/** The process that serves most of the connections, and these (Linux). False until all of them are accepted. */
async function findServer(
  { daemon, port }: Shop,
  lines: readonly Line[],
): Promise<{ pid: number; own: Line[] } | false> {
  const rows = (await readFile('/proc/net/tcp', 'latin1')).split('\n').map((row) => row.trim().split(/ +/))
  const portOf = (address: string) => Number.parseInt(address.split(':')[1]!, 16)
  const accepted = rows.filter(([, local]) => local?.includes(':') && portOf(local) === port)
  const peers = new Map(accepted.map((row) => [`socket:[${row[9]}]`, portOf(row[2]!)]))
  const servers = await Promise.all(
    (await childrenOf(daemon.pid)).map(async (pid) => {
      const places = (await readdir(`/proc/${pid}/fd`)).map((name) => readlink(`/proc/${pid}/fd/${name}`))
      const found = await Promise.allSettled(places)
      const ports = new Set(found.map((place) => place.status === 'fulfilled' && peers.get(place.value)))
      return { pid, own: lines.filter(({ socket }) => ports.has(socket.localPort)) }
    }),
  )
  if (servers.reduce((sum, { own }) => sum + own.length, 0) < lines.length) return false
  return servers.toSorted((one, other) => other.own.length - one.own.length)[0]!
}

/** Stops or continues a process, unless it is gone. */
async function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  if (!(await isGone(pid))) process.kill(pid, name)
}

it('a page that was purged by another process is not served behind bytes that were unread when the purge was answered', async () => {
  const shop = await open({ config: { server: { processes: 2 }, cache: { compression: false } } })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`
  const headers = { 'content-type': 'text/html', 'cache-control': 'public, max-age=600' }
  shop.origin.on('/large', { headers, body: 'x'.repeat(100_000) })
  const large = get('/large')
  const seen: string[] = []
  for (let round = 0; seen.length < 6 && round < 12; round++) {
    const tag = `page-${round}`
    let body = 'old'
    shop.origin.on(`/${tag}`, () => ({ headers: { ...headers, xkey: tag }, body }))
    // One after the other, they go to the processes in turns.
    const lines = [await openLine(shop.port), await openLine(shop.port), await openLine(shop.port)]
    lines.push(...(await Promise.all(Array.from({ length: 300 }, () => openLine(shop.port)))))
    const { pid, own } = await until(() => findServer(shop, lines))
    const purger = lines.find((each) => !own.includes(each))!
    const [line, ...crowd] = own as [Line, ...Line[]]
    for (let count = 0; count < 3; count++) {
      line.socket.write(get(`/${tag}`))
      expect(await line.receive(1)).toMatchObject([{ body }])
    }
    // Pages are stored in the background, under a lock.
    await pause(200)
    await signal(pid, 'SIGSTOP')
    // The process finds all of this in one turn of its event loop, and reads the line last.
    for (const { socket } of crowd) socket.write(large)
    await pause(20)
    const unread = round % 2 === 0 ? '\r\n' : large
    line.socket.write(unread)
    await pause(20)
    await signal(pid, 'SIGCONT')
    await new Promise<unknown>((resolve) => {
      for (const { socket } of crowd) socket.once('data', resolve).once('close', resolve)
    })
    await signal(pid, 'SIGSTOP')
    body = 'new'
    purger.socket.write(`PURGE / HTTP/1.1\r\nHost: ${shop.host}\r\nxkey: ${tag}\r\n\r\n`)
    const status = (await purger.receive(1))[0]!.status
    line.socket.write(get(`/${tag}`))
    await pause(20)
    // Where the process was stopped while it held a lock, the purge fails after a while, and the process may have been replaced.
    await signal(pid, 'SIGCONT')
    if (status === 200) seen.push((await line.receive(unread === large ? 2 : 1)).at(-1)!.body)
    for (const { socket } of lines) socket.destroy()
  }
  expect(seen).toEqual(Array.from({ length: 6 }, () => 'new'))
})
