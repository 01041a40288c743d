import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Arrivals } from '../../src/purge/arrivals.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Whether a group with these waiting purges may begin, asked again after each step. */
function begin(arrivals: Arrivals, waiting: number): () => Promise<boolean> {
  let begun = false
  void arrivals.gathered(waiting).then(() => (begun = true))
  return async () => {
    await Promise.resolve()
    await Promise.resolve()
    return begun
  }
}

it('the first group begins at once', async () => {
  const begun = begin(new Arrivals(), 1)
  expect(await begun()).toBe(true)
})

it('a group begins when as many purges wait as there were clients', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(3, 20)
  const begun = begin(arrivals, 1)
  arrivals.arrived(2)
  expect(await begun()).toBe(false)
  arrivals.arrived(3)
  expect(await begun()).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

it.each([
  ['a quarter of the time of the last group', 20, 5],
  ['ten milliseconds after a slow one', 1000, 10],
])('a group waits for %s at most', async (_, took, wait) => {
  const arrivals = new Arrivals()
  arrivals.answered(3, took)
  const begun = begin(arrivals, 1)
  vi.advanceTimersByTime(wait - 1)
  expect(await begun()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await begun()).toBe(true)
})

it('a client that comes later than that does not wait', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(3, 20)
  vi.advanceTimersByTime(5)
  const begun = begin(arrivals, 1)
  expect(await begun()).toBe(true)
})

it('a large group does not wait for as many clients as before', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(1000, 20)
  const begun = begin(arrivals, 256)
  expect(await begun()).toBe(true)
})
