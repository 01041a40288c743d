/**
 * Program: sends HEAD requests over keep-alive connections, one at a time on each, and prints the number of responses per second. wrk
 * cannot: it waits for the body that a `Content-Length` announces. Argument: a `Heads` as JSON.
 */
import { connect } from 'node:net'

export interface Heads {
  port: number
  path: string
  headers: Readonly<Record<string, string>>
  connections: number
  seconds: number
}

export interface HeadsResult {
  requestsPerSecond: number
}

const { port, path, headers, connections, seconds } = JSON.parse(process.argv[2] ?? '') as Heads
const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
const request = Buffer.from(`HEAD ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines.join('')}\r\n`)
const head = Buffer.from('HTTP/1.1 200 ')
const end = Buffer.from('\r\n\r\n')

let responses = 0
const started = performance.now()
for (let n = 0; n < connections; n++) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(request))
  socket.on('data', (chunk: Buffer) => {
    const one = chunk.indexOf(end) === chunk.length - end.length
    if (!one || chunk.compare(head, 0, head.length, 0, head.length) !== 0)
      throw new Error(`Not one HEAD response: ${chunk.toString('latin1')}`)
    responses += 1
    socket.write(request)
  })
}
setTimeout(() => {
  const result: HeadsResult = { requestsPerSecond: responses / ((performance.now() - started) / 1000) }
  console.log(JSON.stringify(result))
  process.exit(0)
}, seconds * 1000)
