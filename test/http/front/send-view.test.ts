import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import type { View } from '../../../src/cache/hot-views.ts'
import { sendView } from '../../../src/http/front/send-view.ts'

/** A connection that takes bytes at once, or keeps a reference to them until `take` is called, as Node's do for a slow client. */
function connect(isSlow: boolean) {
  const received: string[] = []
  const waiting: (() => void)[] = []
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const take = () => {
        received.push(chunk.toString('latin1'))
        done()
      }
      if (isSlow) waiting.push(take)
      else take()
    },
  }) as Duplex as Socket
  return { socket, received, take: () => waiting.splice(0).forEach((take) => take()) }
}

function viewOf(text: string, fromDisk = false): View {
  const headers: View['headers'] = [['Content-Length', String(text.length)]]
  return { status: 200, headers, body: Buffer.from(text), entry: null, bytes: null, sends: 0, fromDisk }
}

const answerTo = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`

it('a slow client gets its own response although others are answered meanwhile', () => {
  const [slow, fast] = [connect(true), connect(false)]
  const texts = ['first', 'second', 'third'].map((text) => text.repeat(500))
  sendView(slow.socket, viewOf(texts[0]!), false)
  for (const text of texts.slice(1)) sendView(fast.socket, viewOf(text), false)
  slow.take()
  expect([slow.received, fast.received]).toEqual([[answerTo(texts[0]!)], texts.slice(1).map(answerTo)])
})

it.each([0, 10, 16_000, 16_384, 65_536, 65_537, 200_000])('a body of %d bytes is sent whole each time', (size) => {
  const { socket, received } = connect(false)
  const text = 'x'.repeat(size)
  const view = viewOf(text)
  for (let time = 0; time < 12; time += 1) sendView(socket, view, false)
  expect(received.join('')).toBe(answerTo(text).repeat(12))
  expect(view.bytes !== null).toBe(size <= 65_536)
})

it('a small response that is sent a few times a second is not kept', () => {
  const { socket, received } = connect(false)
  const view = viewOf('a page')
  for (let time = 0; time < 9; time += 1) sendView(socket, view, false)
  expect(view.bytes).toBe(null)
  expect(received).toEqual(Array(9).fill(answerTo('a page')))
})

it("the last response of a connection keeps none of the page's own bytes, which may be part of a large buffer", () => {
  const { socket, received, take } = connect(true)
  const view = viewOf('page'.repeat(500))
  sendView(socket, view, true)
  view.body!.fill('x')
  take()
  const head = `HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n`
  expect(received).toEqual([head + 'page'.repeat(500)])
})

it('answers from the disk leave in order at the end of the turn, the oldest once there are many', async () => {
  const clients = Array.from({ length: 40 }, () => connect(false))
  const text = (at: number) => `page ${at} `.repeat(500)
  for (const [at, { socket }] of clients.entries()) {
    sendView(socket, viewOf(text(at), true), false)
    sendView(socket, viewOf(text(at + 1)), false)
  }
  expect(clients.map(({ received }) => received.length)).toEqual([...Array(32).fill(2), ...Array(8).fill(0)])
  await new Promise((resolve) => setImmediate(resolve))
  expect(clients.map(({ received }) => received)).toEqual(
    clients.map((_, at) => [answerTo(text(at)), answerTo(text(at + 1))]),
  )
})

it('a slow client gets its own answer from the disk although others have theirs meanwhile', async () => {
  const [slow, fast] = [connect(true), connect(false)]
  const text = (at: number) => `page ${at} `.repeat(500)
  for (let at = 0; at < 100; at++) {
    sendView(at === 0 ? slow.socket : fast.socket, viewOf(text(at), true), false)
    if (at % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  slow.take()
  await new Promise((resolve) => setImmediate(resolve))
  expect(slow.received).toEqual([answerTo(text(0))])
  expect(fast.received).toEqual(Array.from({ length: 99 }, (_, at) => answerTo(text(at + 1))))
})

it('an answer from the disk keeps none of the bytes of its page, which the next read overwrites', async () => {
  const { socket, received } = connect(false)
  for (const size of [0, 1_000, 16_384, 65_536]) {
    const view = viewOf('p'.repeat(size), true)
    sendView(socket, view, false)
    view.body!.fill('x')
    await new Promise((resolve) => setImmediate(resolve))
    expect(received.splice(0)).toEqual([answerTo('p'.repeat(size))])
  }
})

it('a client that takes nothing keeps little more than its answers from the disk', async () => {
  const { socket, take, received } = connect(true)
  const text = 'a small answer'
  const buffers = new Set<ArrayBufferLike>()
  for (let at = 0; at < 300; at++) {
    buffers.add(sendView(socket, viewOf(text, true), false).bytes.buffer)
    await new Promise((resolve) => setImmediate(resolve))
    // Others take theirs at once.
    sendView(connect(false).socket, viewOf('x'.repeat(9_000), true), false)
    await new Promise((resolve) => setImmediate(resolve))
  }
  // One for 200 answers; the other clients use up some more of each.
  expect(buffers.size).toBeLessThan(10)
  for (let rounds = 0; received.length < 300 && rounds < 1_000; rounds++) {
    take()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(received.join('')).toBe(answerTo(text).repeat(300))
})
