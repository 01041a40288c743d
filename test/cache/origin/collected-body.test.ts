import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { Budget, BudgetShare } from '../../../src/cache/body.ts'
import { CollectedBody } from '../../../src/cache/origin/collected-body.ts'

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
