import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Arrivals, quiet } from '../../src/purge/arrivals.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Whether a wait is over, asked again after each step. */
function over(wait: Promise<void>): () => Promise<boolean> {
  let isOver = false
  void wait.then(() => (isOver = true))
  return async () => {
    await setImmediate()
    return isOver
  }
}

/** Whether a group with these waiting purges may begin. */
function begin(arrivals: Arrivals, waiting: number): () => Promise<boolean> {
  return over(arrivals.gathered(waiting))
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
  ['half of the time of the last group', 10, 5],
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

it('clients that have sent nothing for a while are not waited for', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(3, 20)
  vi.advanceTimersByTime(quiet + 1)
  const begun = begin(arrivals, 1)
  expect(await begun()).toBe(true)
})

it('a large group does not wait for as many clients as before', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(1000, 20)
  const begun = begin(arrivals, 256)
  expect(await begun()).toBe(true)
})

it('waits for the next purge', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(3, 20)
  const come = over(arrivals.next())
  vi.advanceTimersByTime(quiet - 1)
  expect(await come()).toBe(false)
  arrivals.arrived(1)
  expect(await come()).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

it('waits for the next purge until none has come for a while', async () => {
  const come = over(new Arrivals().next())
  vi.advanceTimersByTime(quiet)
  expect(await come()).toBe(true)
})

it('waits for nothing once it has ended', async () => {
  const arrivals = new Arrivals()
  arrivals.answered(3, 20)
  const come = over(arrivals.next())
  arrivals.end()
  expect(await come()).toBe(true)
  expect(await begin(arrivals, 1)()).toBe(true)
})
