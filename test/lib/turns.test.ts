import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Turns } from '../../src/lib/turns.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Takes time. */
const work = (ms: number) => void vi.advanceTimersByTime(ms)

/** Runs 20 steps of 2 ms or `each`, and returns how many of them were complete after each turn of the event loop. */
async function steps(turns: Turns, otherWork: number, each = 2): Promise<number[]> {
  let done = 0
  const all = Array.from({ length: 20 }, async () => {
    await turns.next()
    // A step may wait for promises, but not for input.
    await Promise.resolve()
    work(each)
    done += 1
  })
  const seen: number[] = []
  while (done < all.length) {
    work(otherWork)
    await turn()
    seen.push(done)
  }
  await Promise.all(all)
  return seen
}

it('runs the steps in order, at least one per turn, but not all at once', async () => {
  const turns = new Turns(() => true)
  for (const round of [1, 2]) {
    const seen = await steps(turns, 0)
    expect(seen.length, `turns of round ${round}`).toBeGreaterThan(10)
    expect(seen.length, `turns of round ${round}`).toBeLessThanOrEqual(21)
  }
})

it('gives the steps half of the time of everything else, so that they do not starve', async () => {
  const seen = await steps(new Turns(() => true), 40)
  expect(seen.length).toBeLessThan(10)
})

it('runs more of them per turn while no hits come', async () => {
  const seen = { quiet: await steps(new Turns(() => true), 0, 0.1), busy: await steps(new Turns(() => false), 0, 0.1) }
  expect(seen).toEqual({ quiet: [10, 20], busy: expect.any(Array) })
  expect(seen.busy.length).toBeGreaterThan(5)
})
