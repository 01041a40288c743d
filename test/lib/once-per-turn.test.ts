import { stat } from 'node:fs'
import { expect, it } from 'vitest'
import { oncePerTurn } from '../../src/lib/once-per-turn.ts'

it('reads once per turn of the event loop, and again in the next one after a read by an immediate', async () => {
  let reads = 0
  const read = oncePerTurn(() => (reads += 1))
  const seen = await new Promise<number[]>((resolve) => {
    setImmediate(() => {
      const before = [read(), read()]
      stat('/', () => resolve([...before, read(), read()]))
      // So that it is called in the next turn, before the immediates of that.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    })
  })
  expect(seen).toEqual([1, 1, 2, 2])
})

it('keeps nothing of a read that fails', () => {
  let fails = true
  const read = oncePerTurn(() => {
    if (fails) throw new Error('locked')
    return 1
  })
  expect(read).toThrow('locked')
  fails = false
  expect(read()).toBe(1)
})
