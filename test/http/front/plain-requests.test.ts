import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Framing } from '../../../src/http/front/framing.ts'
import { examine } from '../../../src/http/front/guard.ts'
import type { PlainRequest } from '../../../src/http/front/plain-request.ts'
import { toPairs } from '../../../src/cache/fields.ts'
import { presentationOf } from '../../../src/cache/form.ts'
import { random } from '../../helpers/random.ts'
import { generateRequest } from './generated-requests.ts'
import { parseEventRequest, parseHitRequest } from './plain.ts'
import { speak } from './wire.ts'

/** What Node's parser read from one connection. */
interface Parsed {
  requests: { head: IncomingMessage; body: Promise<Buffer> }[]
  errors: number
}

let server: ReturnType<typeof createServer>
let port: number
const reads: Parsed[] = []

beforeAll(async () => {
  server = createServer({ maxHeaderSize: 1 << 20, requireHostHeader: false })
  server.maxHeadersCount = 0
  // Connections are numbered, since ports repeat.
  const numbers = new WeakMap<object, number>()
  server.on('connection', (socket) => {
    numbers.set(socket, reads.length)
    reads.push({ requests: [], errors: 0 })
  })
  server.on('request', (request, response) => {
    const number = numbers.get(request.socket)!
    reads[number]!.requests.push({
      head: request,
      body: request.toArray().then((chunks) => Buffer.concat(chunks as Buffer[])),
    })
    response.setHeader('X-Connection', String(number))
    response.end()
  })
  server.on('clientError', (_, socket) => {
    const number = numbers.get(socket)!
    reads[number]!.errors++
    socket.end(`HTTP/1.1 400 Bad Request\r\nX-Connection: ${number}\r\nContent-Length: 0\r\n\r\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => server.close())

interface PlainResult {
  head: PlainRequest
  body: Buffer
}

const readers = {
  GET: (bytes, trusted) => {
    const head = parseHitRequest(bytes, trusted, 200)
    return head === null ? null : { head: head as PlainRequest, body: Buffer.alloc(0) }
  },
  POST: (bytes, trusted) => parseEventRequest(bytes, trusted, 200),
} satisfies Record<string, (bytes: Buffer, trusted: boolean) => PlainResult | null>

/** Sends a request to Node's server. Only used for requests that the plain parser accepts: Node decides about all others anyway. */
async function parseWithNode(text: string): Promise<Parsed> {
  const marker = 'POST /end-of-it HTTP/1.1\r\nHost: end\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
  const { answers } = await speak(port, text + marker)
  return reads[Number(answers[0]!.headers['x-connection'])]!
}

it.each(['GET', 'POST'] as const)(
  'a plain %s is parsed as the same single request by Node and the guard',
  async (method) => {
    const next = random(20_260_115)
    const requests = Array.from({ length: 30_000 }, () => generateRequest(next, method))
    const accepted = requests.flatMap((text) =>
      [false, true].flatMap((trusted) => {
        const plain = readers[method](Buffer.from(text, 'latin1'), trusted)
        return plain === null ? [] : [{ text, trusted, plain }]
      }),
    )
    // A sample that is neither empty nor trivially valid.
    expect(accepted.length).toBeGreaterThan(1000)
    expect(accepted.length).toBeLessThan(requests.length)
    for (let at = 0; at < accepted.length; at += 50)
      await Promise.all(accepted.slice(at, at + 50).map((each) => compare(each.text, each.trusted, each.plain, method)))
  },
)

async function compare(text: string, trusted: boolean, plain: PlainResult, method: string): Promise<void> {
  const { requests, errors } = await parseWithNode(text)
  // One request and the marker after it: no bytes were left over or swallowed.
  expect({ text, errors, requests: requests.map(({ head }) => `${head.method} ${head.url}`) }).toEqual({
    text,
    errors: 0,
    requests: [`${method === 'POST' ? 'POST' : plain.head.method} ${plain.head.target}`, 'POST /end-of-it'],
  })
  const { head: parsed, body } = requests[0]!
  const pairs = toPairs(parsed.rawHeaders)
  const accepted = examine({ method, target: parsed.url!, version: parsed.httpVersion, headers: pairs }, trusted)
  expect({ text, target: plain.head.target, scheme: plain.head.scheme, host: plain.head.host }).toEqual({
    text,
    ...accepted,
  })
  expect(parsed.headers['transfer-encoding'] ?? parsed.headers['upgrade'] ?? parsed.headers['expect']).toBeUndefined()
  expect({ text, body: (await body).toString('latin1') }).toEqual({ text, body: plain.body.toString('latin1') })
  const field = (name: string) => parsed.headers[name] ?? null
  expect({ text, cookie: plain.head.cookie, ...presentationOf('', (name) => plain.head.field(name)) }).toEqual({
    text,
    cookie: field('cookie'),
    method: '',
    acceptEncoding: field('accept-encoding'),
    ifNoneMatch: field('if-none-match'),
    ifModifiedSince: field('if-modified-since'),
    range: field('range'),
    ifRange: field('if-range'),
  })
  const { acceptEncoding, ifNoneMatch, ifModifiedSince, range, ifRange } = plain.head
  expect({ text, acceptEncoding, ifNoneMatch, ifModifiedSince, range, ifRange, method: '' }).toEqual({
    text,
    ...presentationOf('', (name) => plain.head.field(name)),
  })
  for (const name of new Set(pairs.map(([spelt]) => spelt.toLowerCase()))) {
    const value = pairs
      .filter(([spelt]) => spelt.toLowerCase() === name)
      .map(([, line]) => line)
      .join(name === 'cookie' ? '; ' : ', ')
    expect({ text, name, value: plain.head.field(name) }).toEqual({ text, name, value })
  }
}

it('the framing knows where Node finds the end of a request', async () => {
  const next = random(20_260_116)
  const wholes: { text: string; requests: number }[] = []
  for (let count = 0; count < 20_000; count++) {
    let text = generateRequest(next, next() < 0.5 ? 'GET' : 'POST')
    while (next() < 0.5) text += generateRequest(next, next() < 0.5 ? 'GET' : 'POST')
    const framing = new Framing()
    const step = next() < 0.1 ? 1 : 1 + Math.floor(next() * text.length * 1.5)
    for (let at = 0; at < text.length; at += step) {
      framing.take(Buffer.from(text.slice(at, at + step), 'latin1'))
      if (framing.isWhole) wholes.push({ text: text.slice(0, at + step), requests: framing.requests })
    }
  }
  expect(wholes.length).toBeGreaterThan(1000)
  expect(wholes.filter(({ requests }) => requests > 1).length).toBeGreaterThan(50)
  for (let at = 0; at < wholes.length; at += 50)
    await Promise.all(
      wholes.slice(at, at + 50).map(async ({ text, requests }) => {
        const parsed = await parseWithNode(text)
        const heads = parsed.requests.map(({ head }) => head)
        expect({ text, errors: parsed.errors, requests: heads.length, last: heads.at(-1)?.url }).toEqual({
          text,
          errors: 0,
          requests: requests + 1,
          last: '/end-of-it',
        })
      }),
    )
})

it('the framing is lost for good at what is not plain', () => {
  const framing = new Framing()
  for (const chunk of [
    'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  ])
    framing.take(Buffer.from(chunk))
  expect(framing).toMatchObject({ isLost: true, isWhole: false, requests: 0 })
})

it.each([
  ['too many fields', `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(200)}\r\n`],
  ['a target that is too long', `GET /${'a'.repeat(8192)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a large request', `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['two requests', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2)],
  ['half a request', 'GET / HTTP/1.1\r\nHost: a\r\n'],
  ['half a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{'],
  ['a body and more', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}{'],
  ['a body without a length', 'POST / HTTP/1.1\r\nHost: a\r\n\r\n{}'],
  ['two ranges', 'GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\nRange: bytes=2-3\r\n\r\n'],
  ['two dates', 'GET / HTTP/1.1\r\nHost: a\r\nIf-Modified-Since: x\r\nIf-Modified-Since: y\r\n\r\n'],
  ['two conditions of a range', 'GET / HTTP/1.1\r\nHost: a\r\nIf-Range: "x"\r\nif-range: "y"\r\n\r\n'],
  ['a HEAD with a body', 'HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx'],
  ['a precondition for the shop', 'HEAD / HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\n\r\n'],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}'],
  [
    'two types',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n{}',
  ],
  ['chunks', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n'],
  ['a large body', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8193\r\n\r\n${'a'.repeat(8193)}`],
  ['nothing', ''],
])('leaves %s to Node', (_, text) => {
  for (const read of Object.values(readers)) expect(read(Buffer.from(text, 'latin1'), false)).toBeNull()
})

it('parses in linear time', () => {
  // With backtracking these would run longer than the test may.
  for (const text of [
    'A'.repeat(16_000),
    'A: '.repeat(5000),
    ':\r\n'.repeat(5000),
    `GET / HTTP/1.1\r\n${'A:\r\n'.repeat(3900)}X`,
    `POST / HTTP/1.1\r\n${'A:\r\n'.repeat(3900)}X`,
    `GET /${'a'.repeat(16_000)}`,
  ]) {
    const bytes = Buffer.from(text, 'latin1')
    expect([parseHitRequest(bytes, false, 1_000_000), parseEventRequest(bytes, false, 1_000_000)]).toEqual([null, null])
  }
})
