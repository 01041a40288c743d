/**
 * Program: sends events at a fixed rate and prints their latencies in milliseconds, measured from each event's scheduled time. It writes
 * to sockets directly, to use little of the shared core. Argument: an `Events` as JSON.
 */
import { connect, type Socket } from 'node:net'
import { percentile } from './statistics.ts'
import { eventsOfVisitors } from './visitors.ts'

export interface Events {
  port: number
  stage: string
  perSecond: number
  seconds: number
  connections: number
}

export interface EventLatencies {
  events: number
  p50: number
  p99: number
  max: number
}

const { port, stage, perSecond, seconds, connections } = JSON.parse(process.argv[2] ?? '') as Events
const requests = eventsOfVisitors(stage).map(({ body, cookie }) =>
  Buffer.from(
    `POST /vendor-stage/track HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nCookie: ${cookie}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  ),
)
const total = perSecond * seconds
const latencies: number[] = []
const due: number[] = []
const idle: Socket[] = await Promise.all(Array.from({ length: connections }, open))
const start = performance.now() + 50
let scheduled = 0

const clock = setInterval(() => {
  for (; scheduled < total && performance.now() >= start + (scheduled * 1000) / perSecond; scheduled += 1)
    due.push(performance.now())
  if (scheduled >= total) clearInterval(clock)
  sendDue()
}, 1)

function sendDue(): void {
  while (due.length > 0 && idle.length > 0) send(idle.shift()!, due.shift()!)
}

function send(socket: Socket, at: number): void {
  let text = ''
  const take = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (!text.endsWith('{"success":true}')) return
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(text)
    socket.off('data', take)
    latencies.push(performance.now() - at)
    idle.push(socket)
    if (latencies.length === total) finish()
    else sendDue()
  }
  socket.on('data', take)
  socket.write(requests[latencies.length % requests.length]!)
}

function finish(): void {
  for (const socket of idle) socket.destroy()
  const result: EventLatencies = {
    events: total,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
    max: Math.max(...latencies),
  }
  console.log(JSON.stringify(result))
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}
