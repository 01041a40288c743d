import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Gathering } from '../../src/pages/gathering.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const pending = new Promise<never>(() => {})

/** How long the next pause takes, in milliseconds; `during` runs when it has begun. */
async function lengthOf(gathering: Gathering, during = () => {}): Promise<number> {
  const began = performance.now()
  let isOver = false
  const pausing = gathering.pause(50).then(() => (isOver = true))
  during()
  for (let ms = 0; ms <= 50; ms++) {
    await vi.advanceTimersByTimeAsync(0)
    if (isOver) break
    await vi.advanceTimersByTimeAsync(1)
  }
  await pausing
  return performance.now() - began
}

it('lasts as long as it is told to when no one waits', async () => {
  const gathering = new Gathering()
  void gathering.announce(pending)
  expect(await lengthOf(gathering)).toBe(50)
  expect(await lengthOf(gathering)).toBe(50)
})

it('ends at once when someone waits and no one else was announced', async () => {
  const gathering = new Gathering()
  expect(await lengthOf(gathering, () => void gathering.awaited(pending))).toBe(0)
})

it('ends when all wait that were announced', async () => {
  const gathering = new Gathering()
  const add = (ms: number) => setTimeout(() => void gathering.awaited(pending), ms)
  for (const ms of [1, 3, 5]) {
    void gathering.announce(pending)
    add(ms)
  }
  expect(await lengthOf(gathering)).toBe(5)
})

it('ends a moment after the first who waits, although another was announced', async () => {
  const gathering = new Gathering()
  for (let n = 0; n < 3; n++) void gathering.announce(pending)
  setTimeout(() => void gathering.awaited(pending), 10)
  setTimeout(() => void gathering.awaited(pending), 15)
  expect(await lengthOf(gathering)).toBe(18)
})

it('does not wait for those whose work has ended', async () => {
  const gathering = new Gathering()
  await gathering.announce(Promise.resolve())
  await gathering.announce(Promise.reject(new Error('not stored'))).catch(() => {})
  void gathering.announce(pending)
  expect(await lengthOf(gathering, () => void gathering.awaited(pending))).toBe(0)
})

it('counts what waited before the pause, and forgets it afterwards', async () => {
  const gathering = new Gathering()
  void gathering.announce(pending)
  void gathering.announce(pending)
  const stored = Promise.withResolvers<string>()
  const waiting = gathering.awaited(stored.promise)
  await vi.advanceTimersByTimeAsync(5)
  expect(await lengthOf(gathering)).toBe(3)
  stored.resolve('stored')
  expect(await waiting).toBe('stored')
  expect(await lengthOf(gathering)).toBe(50)
})

it('is omitted after a hurry', async () => {
  const gathering = new Gathering()
  gathering.hurry()
  expect(await lengthOf(gathering)).toBe(0)
  expect(await lengthOf(gathering, () => gathering.hurry())).toBe(0)
})
