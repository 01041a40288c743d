import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { HeaderPair } from '../../../src/pages/page.ts'
import { ask, openClient, openRawShop, plain } from './raw-shop.ts'

const limits = { maxConcurrent: 1, queue: 1, queueTimeout: 10_000 }
const host: HeaderPair = ['host', 'shop.example']

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

/** A shop that answers a GET at once, and a POST when its body has ended; and one slow upload to it. */
async function openUpload(headers: HeaderPair[]) {
  const shop = await openRawShop((socket, text, number) => {
    if (text.startsWith('GET') || /(?:0\r\n\r\n|end)$/.test(text)) {
      shop.connections[number]!.text = ''
      if (text.startsWith('GET /slow')) return
      socket.write(plain(text.startsWith('GET') ? 'page' : 'uploaded'))
    }
  })
  const client = openClient({}, limits)
  const upload = ask(client, { origin: shop.url, method: 'POST', headers, body: 'stream' })
  upload.exchange.write(Buffer.from('begin'))
  await until(() => shop.connections.some(({ text }) => text.includes('begin')))
  const visit = (target: string) => ask(client, { origin: shop.url, target })
  return { shop, client, upload, visit }
}

const announced: [string, HeaderPair[]] = ['with a length', [host, ['content-length', '8']]]
const chunked: [string, HeaderPair[]] = ['in chunks', [host]]

function finish({ exchange }: ReturnType<typeof ask>): void {
  exchange.write(Buffer.from('end'))
  exchange.end()
}

it.each([announced, chunked])('an upload %s counts no longer than five seconds', async (_, headers) => {
  const { client, upload, visit } = await openUpload(headers)
  const visitor = visit('/')
  vi.advanceTimersByTime(4_900)
  expect(client.counts).toEqual({ active: 1, waiting: 1, rejected: 0 })
  vi.advanceTimersByTime(200)
  expect((await visitor.result).body).toBe('page')
  expect(client.counts).toEqual({ active: 0, waiting: 0, rejected: 0 })
  finish(upload)
  expect(client.counts.active).toBe(1)
  expect((await upload.result).body).toBe('uploaded')
  expect(client.counts).toEqual({ active: 0, waiting: 0, rejected: 0 })
})

it.each([announced, chunked])('the end of a slow upload %s waits while others are at the shop', async (_, headers) => {
  const { shop, client, upload, visit } = await openUpload(headers)
  vi.advanceTimersByTime(5_100)
  const visitor = visit('/slow')
  await until(() => shop.connections.length === 2)
  finish(upload)
  expect(client.counts).toEqual({ active: 1, waiting: 1, rejected: 0 })
  shop.connections[1]!.socket.write(plain('page'))
  expect((await visitor.result).body).toBe('page')
  expect((await upload.result).body).toBe('uploaded')
})

it.each([announced, chunked])('the end of a slow upload %s is refused like other requests', async (_, headers) => {
  const { shop, client, upload, visit } = await openUpload(headers)
  const closed = new Promise((resolve) => shop.connections[0]!.socket.once('close', resolve))
  vi.advanceTimersByTime(5_100)
  visit('/slow')
  finish(upload)
  vi.advanceTimersByTime(10_100)
  expect((await upload.result).error?.failure).toBe('overloaded')
  await closed
  expect(shop.connections[0]!.text).not.toMatch(/beginend$|0\r\n\r\n$/)
  expect(client.counts).toEqual({ active: 1, waiting: 0, rejected: 1 })
})

it('a visitor who leaves a slow upload leaves nothing behind', async () => {
  const { client, upload, visit } = await openUpload(chunked[1])
  vi.advanceTimersByTime(5_100)
  const visitor = visit('/slow')
  finish(upload)
  upload.exchange.abort()
  expect(client.counts).toEqual({ active: 1, waiting: 0, rejected: 0 })
  visitor.exchange.abort()
  expect(client.counts).toEqual({ active: 0, waiting: 0, rejected: 0 })
})
