/**
 * Program: sends `PURGE /` with one tag each, over connections that wait for their responses, and prints the results.
 * Argument: a `Storm` as JSON.
 */
import { connect } from 'node:net'
import { percentile } from './statistics.ts'

export interface Storm {
  port: number
  /** Purges the tags `tag-<first>` to `tag-<first + count - 1>`, each once. */
  first: number
  count: number
  connections: number
  /** The number of objects that each response must report; null: any. */
  pages: number | null
  /** Time limit in seconds. */
  seconds: number
}

export interface StormResult {
  purges: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

const storm = JSON.parse(process.argv[2] ?? '') as Storm
const latencies: number[] = []
let next = storm.first
const started = performance.now()
await Promise.all(Array.from({ length: storm.connections }, purgeOnOneConnection))
const seconds = (performance.now() - started) / 1000
const result: StormResult = {
  purges: latencies.length,
  perSecond: latencies.length / seconds,
  p50: percentile(latencies, 50),
  p99: percentile(latencies, 99),
}
console.log(JSON.stringify(result))

async function purgeOnOneConnection(): Promise<void> {
  const socket = connect({ port: storm.port, host: '127.0.0.1', noDelay: true })
  socket.setEncoding('latin1')
  let received = ''
  let answered = (_text: string) => {}
  socket.on('data', (text: string) => {
    received += text
    const head = received.indexOf('\r\n\r\n')
    const length = Number(/^content-length: *(\d+)/im.exec(received.slice(0, head))?.[1])
    if (head < 0 || received.length < head + 4 + length) return
    const whole = received
    received = ''
    answered(whole)
  })
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  const end = started + storm.seconds * 1000
  while (next < storm.first + storm.count && performance.now() < end) {
    const sent = performance.now()
    const answer = await new Promise<string>((resolve) => {
      answered = resolve
      socket.write(`PURGE / HTTP/1.1\r\nHost: 127.0.0.1:${storm.port}\r\nxkey: tag-${next++}\r\n\r\n`)
    })
    latencies.push(performance.now() - sent)
    if (
      !answer.startsWith('HTTP/1.1 200 ') ||
      (storm.pages !== null && !answer.includes(`Invalidated ${storm.pages} objects`))
    )
      throw new Error(answer)
  }
  socket.destroy()
}
