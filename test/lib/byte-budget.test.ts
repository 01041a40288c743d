import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ByteBudget, type Lease } from '../../src/lib/byte-budget.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Collects leases in the order in which they are granted. */
function taker(budget: ByteBudget) {
  const granted: Lease[] = []
  const take = (bytes: number) => void budget.lease(bytes).then((lease) => granted.push(lease))
  return { granted, take }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('requests beyond the budget wait in order', async () => {
  const budget = new ByteBudget(10)
  const { granted, take } = taker(budget)
  for (const bytes of [6, 4, 8, 1]) take(bytes)
  await turn()
  expect([granted.length, budget.used, budget.waiting]).toEqual([2, 10, 2])
  granted[1]!.release()
  await turn()
  // The last one would fit, but must not overtake.
  expect(granted).toHaveLength(2)
  granted[0]!.release()
  await turn()
  expect([granted.length, budget.used, budget.waiting]).toEqual([4, 9, 0])
})

it('releasing twice counts once, and a request above the budget gets all of it', async () => {
  const budget = new ByteBudget(10)
  const lease = await budget.lease(25)
  expect(budget.used).toBe(10)
  lease.release()
  lease.release()
  expect(budget.used).toBe(0)
})

it('while others wait, cancels the longest idle lease but none that progresses or cannot be cancelled', async () => {
  const budget = new ByteBudget(3, 1000)
  const { granted, take } = taker(budget)
  for (let count = 0; count < 3; count++) take(1)
  await turn()
  const cut: number[] = []
  const [first, second] = granted
  first!.onCut = () => cut.push(0)
  second!.onCut = () => cut.push(1)
  vi.advanceTimersByTime(5000)
  // Without waiting requests nothing is cancelled.
  expect(cut).toEqual([])
  first!.touch()
  take(1)
  await turn()
  expect([cut, granted.length]).toEqual([[1], 4])
  take(1)
  vi.advanceTimersByTime(900)
  first!.touch()
  vi.advanceTimersByTime(900)
  await turn()
  expect([cut, granted.length]).toEqual([[1], 4])
  vi.advanceTimersByTime(100)
  await turn()
  expect([cut, granted.length]).toEqual([[1, 0], 5])
})

it('a buffer sent to several clients counts once, until the last is done', () => {
  const budget = new ByteBudget(1000)
  const buffer = Buffer.allocUnsafeSlow(600)
  const leases = [budget.hold(buffer, () => {}), budget.hold(buffer.subarray(0, 10), () => {})]
  expect([budget.used, budget.crowded]).toEqual([600, true])
  leases[0]!.release()
  expect(budget.used).toBe(600)
  leases[1]!.release()
  expect([budget.used, budget.crowded]).toEqual([0, false])
})

it('cancels idle holders above the budget', () => {
  const budget = new ByteBudget(1000, 1000)
  const cut: number[] = []
  for (let count = 0; count < 3; count++) budget.hold(Buffer.allocUnsafeSlow(600), () => cut.push(count))
  vi.advanceTimersByTime(1000)
  expect([cut, budget.used]).toEqual([[0, 1], 600])
})
