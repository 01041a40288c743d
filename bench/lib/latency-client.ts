/**
 * Program: visits pages at a fixed rate over a few keep-alive connections and prints the latencies in milliseconds. Latency is measured
 * from the scheduled time of a visit, not from when a connection was free, so a stall of the server affects every visit that it delays. Argument: a `Visits` as JSON.
 */
import { connect, type Socket } from 'node:net'
import { percentile } from './statistics.ts'

export interface Visits {
  port: number
  paths: readonly string[]
  headers: Readonly<Record<string, string>>
  perSecond: number
  seconds: number
  connections: number
  /** GET without it. */
  method?: 'HEAD' | 'POST'
  /** Sent with POST. */
  body?: string
  /** The status of every response; 200 without it. */
  status?: number
  /** A pattern of the head of every response; without it, that of a hit of pagecache. */
  expect?: string
  /** Appended to each path with a number of its own, so that every page is new. */
  fresh?: string
  /** The number of successive visits to the same new page; one without it. */
  crowd?: number
}

export interface Latencies {
  visits: number
  p50: number
  p99: number
  max: number
}

const visits = JSON.parse(process.argv[2] ?? '') as Visits
const { method = 'GET', body = '', status = 200, crowd = 1 } = visits
const isBodiless = method === 'HEAD' || status === 304
const fields = Object.entries({ ...visits.headers, ...(method === 'POST' && { 'Content-Length': body.length }) })
const rest = `Host: 127.0.0.1:${visits.port}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
const expected = new RegExp(visits.expect ?? String.raw`^cache-status:.*;\s*hit\b`, 'im')
const total = Math.round(visits.perSecond * visits.seconds)
const latencies: number[] = []
const due: { path: string; at: number }[] = []
const idle: Socket[] = await Promise.all(Array.from({ length: visits.connections }, open))

const start = performance.now() + 50
let scheduled = 0
const clock = setInterval(() => {
  while (scheduled < total && performance.now() >= start + (scheduled * 1000) / visits.perSecond) {
    const given = visits.paths[scheduled % visits.paths.length] ?? '/'
    const path = visits.fresh === undefined ? given : given + visits.fresh + Math.floor(scheduled / crowd)
    // This program's timers are up to a millisecond late, which must not count against the server.
    due.push({ path, at: performance.now() })
    scheduled++
  }
  serveDue()
}, 1)

function serveDue(): void {
  for (let socket = idle[0]; socket !== undefined && due.length > 0; socket = idle[0]) {
    idle.shift()
    visit(socket, due.shift() ?? { path: '/', at: 0 })
  }
}

function visit(socket: Socket, { path, at }: { path: string; at: number }): void {
  let received: Buffer = Buffer.alloc(0)
  const take = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const head = received.indexOf('\r\n\r\n')
    if (head < 0) return
    const text = received.toString('latin1', 0, head)
    const length = isBodiless ? 0 : Number(/^content-length: *(\d+)/im.exec(text)?.[1])
    const chunked = !isBodiless && /^transfer-encoding: *chunked/im.test(text)
    if (!text.startsWith(`HTTP/1.1 ${status} `) || !expected.test(text) || (Number.isNaN(length) && !chunked))
      fail(`not the expected response: ${path}:\n${text}`)
    if (chunked ? !received.toString('latin1').endsWith('\r\n0\r\n\r\n') : received.length < head + 4 + length) return
    latencies.push(performance.now() - at)
    socket.off('data', take)
    idle.push(socket)
    if (latencies.length === total) finish()
    else serveDue()
  }
  socket.on('data', take)
  socket.write(`${method} ${path} HTTP/1.1\r\n${rest}`)
}

async function open(): Promise<Socket> {
  const socket = connect({ port: visits.port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.on('error', (error) => fail(String(error)))
  socket.on('close', () => latencies.length < total && fail('the server closed a connection'))
  return socket
}

function finish(): void {
  clearInterval(clock)
  const result: Latencies = {
    visits: total,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
    max: percentile(latencies, 100),
  }
  console.log(JSON.stringify(result))
  process.exit(0)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
