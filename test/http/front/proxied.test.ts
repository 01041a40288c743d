import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProxyHeaders, Rejections, schemeOf, type Rejection } from '../../../src/http/front/proxied.ts'
import { serveHitsFirst, type HitOptions } from '../../../src/http/front/hit-connection.ts'
import { readProxyHeader } from '../../../src/http/front/proxy-header.ts'
import { until } from '../../helpers/until.ts'
import { malformed, valid } from './proxy-headers.ts'
import { speak } from './wire.ts'

/** What a client sends behind its header. */
const request = 'GET /behind HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n'

describe('reading a PROXY header', () => {
  it.each(Object.entries(valid))('%s', (_, { bytes, address, scheme = 'http' }) => {
    const all = Buffer.concat([bytes, Buffer.from(request)])
    expect(readProxyHeader(all)).toEqual({ kind: 'whole', client: { address, scheme }, length: bytes.length })
    for (let length = 0; length < bytes.length; length++)
      expect(readProxyHeader(all.subarray(0, length))).toEqual({ kind: 'partial' })
  })

  it.each(Object.entries(malformed))('rejects: %s', (_, bytes) => {
    for (const more of [request, '\r\n', '\0'.repeat(70_000)]) {
      const all = Buffer.concat([bytes, Buffer.from(more)])
      const kinds = Array.from(bytes, (__, length) => readProxyHeader(all.subarray(0, length)).kind)
      expect(kinds).not.toContain('whole')
      // Once rejected, always rejected: more bytes cannot bring it back.
      expect(kinds.lastIndexOf('partial')).toBeLessThan(
        kinds.includes('malformed') ? kinds.indexOf('malformed') : Infinity,
      )
      expect(readProxyHeader(all).kind).toBe('malformed')
    }
  })

  it('never reads past a limit', () => {
    const endless = (start: string) => readProxyHeader(Buffer.from(start + '1'.repeat(5000))).kind
    expect([endless('PROXY TCP4 '), endless('PROXY UNKNOWN ')]).toEqual(['malformed', 'malformed'])
  })
})

/** An empty memory: every request goes to Node's server. */
const hitOptions = {
  front: { cache: { hot: { find: () => null }, pass: () => null }, isTrusted: () => false, begin: () => () => {} },
  parsed: () => {},
  pipelines: { hasAnswered: () => false, touch: () => {} },
  silence: 60_000,
  idle: 60_000,
  stall: 60_000,
} as unknown as HitOptions

describe('a server whose connections begin with a PROXY header', () => {
  const rejections = new Rejections((message) => warnings.push(message))
  const warnings: string[] = []
  const served: { address: string | undefined; scheme: string; url: string | undefined }[] = []
  const server = createServer((asked, response) => {
    served.push({ address: asked.socket.remoteAddress, scheme: schemeOf(asked.socket), url: asked.url })
    response.end('answered')
  })
  const front = { isTrusted: (address: string | undefined) => address === '127.0.0.1' }
  let port = 0
  beforeAll(async () => {
    serveHitsFirst(server, hitOptions)
    // As `stopListening` leaves it: paused.
    server.prependListener('connection', (socket: Socket) => socket.pause())
    expectProxyHeaders(server, front, (why) => rejections.note(why))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => void server.close())

  const counted = (why: Rejection) => rejections.counts[why]

  it('serves the client that the header names, however the bytes arrive', async () => {
    for (const { bytes, address, scheme = 'http' } of Object.values(valid)) {
      const all = Buffer.concat([bytes, Buffer.from(request)])
      const places = [0, 1, bytes.length - 1, bytes.length, bytes.length + 1]
      const spoken = await Promise.all(
        places.map((place) => speak(port, [all.subarray(0, place), all.subarray(place)])),
      )
      for (const { answers } of spoken) expect(answers).toMatchObject([{ status: 200, body: 'answered' }])
      const seen = { address: address ?? '127.0.0.1', scheme, url: '/behind' }
      expect(served.splice(0)).toEqual(places.map(() => seen))
    }
    expect(Object.values(rejections.counts)).toEqual([0, 0, 0, 0])
  })

  it('closes every connection with a malformed header, cut at every byte, and parses none of it', async () => {
    let sent = 0
    for (const bytes of Object.values(malformed)) {
      const all = Buffer.concat([bytes, Buffer.from(request)])
      const cuts = Array.from(bytes, (_, place) => [all.subarray(0, place), all.subarray(place)])
      sent += cuts.length
      const spoken = await Promise.all(cuts.map((pieces) => speak(port, pieces)))
      for (const { answers, rest, closed } of spoken)
        expect({ answers, rest, closed }).toEqual({ answers: [], rest: '', closed: true })
    }
    await until(() => counted('malformed') === sent)
    expect(served).toEqual([])
    // An attacker cannot fill the log.
    expect(warnings).toHaveLength(1)
  })

  it('closes a connection from any other address before it reads a byte', async () => {
    const before = counted('untrusted')
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    socket.on('error', () => {}).write(Buffer.concat([valid['v1 IPv4']!.bytes, Buffer.from(request)]))
    await once(socket, 'close')
    await until(() => counted('untrusted') === before + 1)
    expect(served).toEqual([])
  })

  it('closes a connection that ends, breaks or falls silent within its header', async () => {
    const { bytes } = valid['v2 TLS']!
    for (const [part, leave, why] of [
      [bytes.subarray(0, 20), 'end', 'incomplete'],
      [Buffer.alloc(0), 'end', 'incomplete'],
      [bytes.subarray(0, 20), 'resetAndDestroy', 'incomplete'],
      [bytes.subarray(0, 20), null, 'late'],
      [Buffer.alloc(0), null, 'late'],
    ] as const) {
      const before = counted(why)
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
      await once(socket, 'connect')
      socket.write(part)
      socket.resume()
      if (leave !== null) socket[leave]()
      await until(() => counted(why) === before + 1)
      if (!socket.closed) await once(socket, 'close')
    }
    expect(served).toEqual([])
  })

  it('gives up a connection whose header arrives byte by byte for longer than a second', async () => {
    const before = counted('late')
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => {})
    const { bytes } = valid['v1 as long as it may be']!
    let sent = 0
    const timer = setInterval(() => socket.write(bytes.subarray(sent, (sent += 1))), 50)
    // `once` would reject: a byte that is sent after the end is answered with a reset.
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(timer)
    expect(counted('late')).toBe(before + 1)
    expect(sent).toBeLessThan(bytes.length)
  })
})
