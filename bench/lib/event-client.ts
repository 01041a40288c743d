/**
 * A program: sends events at a fixed rate and prints how long their answers took, in milliseconds, counted from the moment at which each turn
 * came. Its argument is an `Events` as JSON.
 */
import { Agent, request } from 'node:http'
import { percentile } from './statistics.ts'

export interface Events {
  url: string
  body: string
  perSecond: number
  seconds: number
}

export interface EventLatencies {
  events: number
  p50: number
  p99: number
  max: number
}

const { url, body, perSecond, seconds } = JSON.parse(process.argv[2] ?? '') as Events
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const total = perSecond * seconds
const latencies: number[] = []
const start = performance.now()
let sent = 0

const clock = setInterval(() => {
  for (; sent < total && performance.now() >= start + (sent * 1000) / perSecond; sent += 1) send(performance.now())
  if (sent >= total) clearInterval(clock)
}, 1)

function send(at: number): void {
  const asked = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (answer) => {
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
    answer.resume().once('end', () => {
      latencies.push(performance.now() - at)
      if (latencies.length < total) return
      agent.destroy()
      const result: EventLatencies = { events: total, p50: percentile(latencies, 50), p99: percentile(latencies, 99), max: Math.max(...latencies) }
      console.log(JSON.stringify(result))
    })
  })
  asked.end(body)
}
