import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Budget, BudgetShare } from '../../../src/cache/body.ts'
import { CollectedBody } from '../../../src/cache/origin/collected-body.ts'
import type { HeaderPair } from '../../../src/pages/page.ts'
import { openClient, openRawShop } from './raw-shop.ts'

const bytes = (size: number, from = 0) => Buffer.from(Array.from({ length: size }, (_, n) => (from + n) % 251))

function collecting({ limit = 1000, budget = 10_000, announced = null as number | null }) {
  const all = new Budget(budget)
  const share = new BudgetShare(all)
  return { all, share, body: new CollectedBody({ limit, share }, announced) }
}

it.each([
  ['of unknown length', null],
  ['of the announced length', 500],
  ['shorter than announced', 900_000],
])('collects a body %s', (_, announced) => {
  const { body } = collecting({ announced })
  for (let at = 0; at < 500; at += 100) expect(body.add(bytes(100, at))).toBe(true)
  const { body: whole } = body.whole() as { body: Buffer }
  expect(whole.equals(bytes(500))).toBe(true)
  // Memory of its own, which is freed with it.
  expect(whole.buffer.byteLength).toBe(500)
})

it('copies its pieces, whose memory is reused', () => {
  const { body } = collecting({})
  const piece = bytes(10)
  body.add(piece)
  piece.fill(0)
  expect((body.whole() as { body: Buffer }).body.equals(bytes(10))).toBe(true)
})

it('grows beyond what is allocated at first', () => {
  const { body } = collecting({ limit: 1e6, budget: 1e6 })
  for (let at = 0; at < 200_000; at += 1000) expect(body.add(bytes(1000, at))).toBe(true)
  expect((body.whole() as { body: Buffer }).body.equals(bytes(200_000))).toBe(true)
})

it.each([
  ['the limit', { limit: 250 }, 'limit'],
  ['the budget', { budget: 250 }, 'budget'],
])('beyond %s, streams what it has and the rest, and gives the budget back', async (_, terms, over) => {
  const { body, all, share } = collecting(terms)
  expect([body.add(bytes(100)), body.add(bytes(100, 100)), body.add(bytes(100, 200))]).toEqual([true, true, false])
  const collected = body.streamed(Readable.from([bytes(100, 200), bytes(50, 300)]))
  expect(collected).toMatchObject({ kind: 'overflow', over })
  const { stream } = collected as { stream: Readable }
  expect(Buffer.concat(await stream.toArray()).equals(bytes(350))).toBe(true)
  share.release()
  expect([all.take('budget' in terms ? 250 : 10_000), all.take(1)]).toEqual([true, false])
})

it('gives the budget back when the body breaks off', () => {
  const { body, all } = collecting({ budget: 100 })
  body.add(bytes(100))
  expect(all.take(1)).toBe(false)
  all.giveBack(1)
  body.release()
  expect(all.take(100)).toBe(true)
})

describe('a response that is collected', () => {
  const request = (origin: string) => ({
    ...{ origin, method: 'GET', target: '/', headers: [['host', 'shop.example']] as HeaderPair[] },
    ...{ body: null, signal: null, onInterim: () => {} },
  })
  const open = async (answer: string, end = false) => {
    const shop = await openRawShop((socket) => (end ? socket.end(answer, 'latin1') : socket.write(answer, 'latin1')))
    return { shop, client: openClient() }
  }

  it.each([
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n'],
    [
      'that is left to undici',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n',
    ],
  ])('%s comes whole', async (_, answer) => {
    const { shop, client } = await open(answer)
    const share = new BudgetShare(new Budget(100))
    const { status, body } = await client.collect(request(shop.url), ({ status }) => {
      expect(status).toBe(200)
      return { limit: 50, share }
    })
    expect([status, (body as { body: Buffer }).body.toString()]).toEqual([200, '0123456789'])
  })

  it('breaks off: nothing comes, and the budget is given back', async () => {
    const { shop, client } = await open('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234', true)
    const budget = new Budget(10)
    const collected = client.collect(request(shop.url), () => ({ limit: 50, share: new BudgetShare(budget) }))
    await expect(collected).rejects.toMatchObject({ name: 'OriginError', failure: 'broken' })
    expect(budget.take(10)).toBe(true)
  })

  it('cannot be judged: the request fails, and the connection is closed', async () => {
    const { shop, client } = await open('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789')
    const collected = client.collect(request(shop.url), () => {
      throw new Error('no room for the ledger')
    })
    await expect(collected).rejects.toMatchObject({ name: 'OriginError', message: 'no room for the ledger' })
    const again = client.collect(request(shop.url), () => null)
    expect(Buffer.concat(await ((await again).body as Readable).toArray()).toString()).toBe('0123456789')
    expect(shop.connections).toHaveLength(2)
  })
})
