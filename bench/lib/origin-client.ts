/**
 * Program: sends requests over some connections for some seconds, and prints the number of responses per second.
 * Arguments: ours, undici or floor; port; size of the body; connections; seconds.
 */
import { connect } from 'node:net'
import { Agent } from 'undici'
import { OriginClient } from '../../src/cache/origin.ts'
import type { ResponseSink } from '../../src/cache/origin/exchange.ts'
import type { HeaderPair } from '../../src/pages/page.ts'

const [name, port, size, connections, seconds] = process.argv.slice(2) as [string, string, string, string, string]
const origin = `http://127.0.0.1:${port}`
const headers: HeaderPair[] = [
  ['user-agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36'],
  ['accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['accept-encoding', 'gzip, deflate, br, zstd'],
  ['cookie', 'session-=0123456789abcdef0123456789abcdef; sw-states=logged-in'],
  ['host', 'shop.example'],
  ['x-forwarded-for', '203.0.113.9'],
  ['via', '1.1 pagecache'],
]
let responses = 0
let bytes = 0

const starts: Record<string, () => void> = {
  ours: () => {
    const client = new OriginClient({ connect: 5000, headers: 5000, idle: 5000, total: 5000 })
    const ask = () => void client.begin({ origin, method: 'GET', target: '/account', headers, body: null }, sink)
    const sink: ResponseSink = {
      onInterim: () => {},
      onHead: () => true,
      onData: (piece) => ((bytes += piece.length), true),
      onEnd: () => (responses++, ask()),
      onError: (error) => fail(error),
      onDrain: () => {},
    }
    for (let count = 0; count < Number(connections); count++) ask()
  },
  undici: () => {
    const agent = new Agent({ allowH2: false })
    const flat = headers.flat()
    const ask = () =>
      void agent.dispatch(
        { origin, method: 'GET', path: '/account', headers: flat },
        {
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: (_, piece) => void (bytes += piece.length),
          onResponseEnd: () => (responses++, ask()),
          onResponseError: (_, error) => fail(error),
        },
      )
    for (let count = 0; count < Number(connections); count++) ask()
  },
  // Looks at nothing that comes: what a connection and its writes cost.
  floor: () => {
    const request = `GET /account HTTP/1.1\r\n${headers.map(([field, value]) => `${field}: ${value}\r\n`).join('')}\r\n`
    for (let count = 0; count < Number(connections); count++) {
      let missing = 0
      const socket = connect({ port: Number(port), noDelay: true })
        .on('error', fail)
        .on('data', (piece) => {
          if (missing === 0) missing = piece.indexOf('\r\n\r\n') + 4 + Number(size)
          missing -= piece.length
          if (missing > 0) return
          responses++
          bytes += Number(size)
          socket.write(request, 'latin1')
        })
      socket.write(request, 'latin1')
    }
  },
}

function fail(error: Error): never {
  process.stderr.write(`${name}: ${error.message}\n`)
  process.exit(1)
}

starts[name]!()
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
await pause(400)
const [before, started] = [responses, performance.now()]
await pause(Number(seconds) * 1000)
const rate = (responses - before) / ((performance.now() - started) / 1000)
if (bytes < responses * Number(size)) throw new Error(`${name}: bodies are incomplete`)
process.stdout.write(`${rate}\n`, () => process.exit(0))
