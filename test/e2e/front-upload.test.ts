import { connect } from 'node:net'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { read, speak } from '../http/front/wire.ts'
import { openShop, watchMemory, type Shop } from '../http/api/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const MiB = 1024 * 1024
/** Bytes. Buffering shows with a third of a gigabyte already; set UPLOAD_MIB for more. */
const uploaded = Number(process.env['UPLOAD_MIB'] ?? 300) * MiB

it.each([
  ['of a known length', { 'content-length': String(uploaded) }],
  ['in chunks', {}],
])('an upload %s streams to the shop with flat memory', async (_, headers) => {
  let received = 0
  shop.origin.on('/checkout/upload', async (__, ___, incoming) => {
    for await (const chunk of incoming) received += (chunk as Buffer).length
    return { status: 201, body: String(received) }
  })
  const growth = await watchMemory(shop.daemon.pid)
  const outgoing = request(`${shop.daemon.url}/checkout/upload`, { method: 'POST', headers, agent: false })
  const answered = once(outgoing, 'response')
  const piece = Buffer.alloc(MiB, 'x')
  for (let sent = 0; sent < uploaded; sent += piece.length) {
    if (!outgoing.write(piece)) await once(outgoing, 'drain')
  }
  outgoing.end()
  const [response] = await answered
  expect(response.statusCode).toBe(201)
  response.resume()
  expect(received).toBe(uploaded)
  // The buffers of a stream and what the collector has not freed yet; a body kept whole would be twice as much.
  expect((await growth()) / MiB).toBeLessThan(150)
})

describe('the API', () => {
  const post = (fields: string) =>
    `POST /api/_action/vendor-cache/clear HTTP/1.1\r\nHost: ${shop.host}\r\nContent-Type: application/json\r\n${fields}\r\n\r\n`

  it.each([
    ['a gigabyte', `Content-Length: ${2 ** 30}`],
    ['a byte more than a megabyte', `Content-Length: ${MiB + 1}`],
    ['a gigabyte with an expectation', `Content-Length: ${2 ** 30}\r\nExpect: 100-continue`],
  ])('%s gets 413 before any of it is read', async (_, fields) => {
    const { answers, closed } = await speak(shop.port, post(fields))
    expect(answers).toMatchObject([
      { status: 413, headers: { connection: 'close', 'content-type': 'application/json' } },
    ])
    expect(JSON.parse(answers[0]!.body)).toEqual({ success: false, message: expect.any(String) })
    expect(closed).toBe(true)
  })

  it('the answer reaches a client that keeps sending', async () => {
    const socket = connect(shop.port, '127.0.0.1')
    const reading = read(socket)
    socket.write(post(`Content-Length: ${50 * MiB}`))
    const piece = Buffer.alloc(MiB)
    for (let sent = 0; sent < 20 && !socket.destroyed; sent++) socket.write(piece)
    const { answers } = await reading
    expect(answers.map((answer) => answer.status)).toEqual([413])
  })

  it('a refused body is never parsed as a request', async () => {
    const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`
    const { answers } = await speak(shop.port, post(`Content-Length: ${2 * MiB}`) + smuggled)
    expect(answers).toHaveLength(1)
    expect(shop.origin.hits('/smuggled')).toBe(0)
  })
})
