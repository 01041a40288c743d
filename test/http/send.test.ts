import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import type { Answer } from '../../src/http/answer.ts'
import { send } from '../../src/http/send.ts'
import { until } from '../helpers/until.ts'
import { read } from './front/wire.ts'

/** Sends an answer through Node's server to a client that asks for nothing else. */
async function open(requestLine: string, answer: Answer) {
  const server = createServer((_: IncomingMessage, response: ServerResponse) => send(response, answer))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
  socket.write(`${requestLine}\r\nHost: shop.example\r\nConnection: close\r\n\r\n`)
  return { spoken: read(socket, { methods: [requestLine.split(' ', 1)[0]!] }), received: () => received }
}

/** UTF-8 bytes as a parser of HTTP delivers them, one character per byte. */
const location = Buffer.from('/größe').toString('latin1')
const length = ['Content-Length', '4'] as const

it.each([
  ['a body of known length', 'GET / HTTP/1.1', 200, [length], 'body'],
  ['a body in chunks', 'GET / HTTP/1.1', 200, [], 'body'],
  ['a body for an HTTP/1.0 client', 'GET / HTTP/1.0', 200, [], 'body'],
  ['HEAD', 'HEAD / HTTP/1.1', 200, [length], ''],
  ['a status without a body', 'GET / HTTP/1.1', 204, [], ''],
] as const)('a streamed answer keeps the bytes of its fields: %s', async (_, line, status, fields, expected) => {
  const body = Readable.from(expected === '' ? [] : [Buffer.from(expected)])
  const { spoken } = await open(line, { status, headers: [['Location', location], ...fields], body })
  expect((await spoken).answers).toMatchObject([{ status, headers: { location }, body: expected }])
})

it.each(['HTTP/1.0', 'HTTP/1.1'])('the head leaves before the first byte of a streamed body, %s', async (version) => {
  const body = new Readable({ read: () => {} })
  const { spoken, received } = await open(`GET / ${version}`, { status: 200, headers: [], body })
  await until(() => received().endsWith('\r\n\r\n'))
  body.push('late')
  body.push(null)
  expect((await spoken).answers).toMatchObject([{ status: 200, body: 'late' }])
})
