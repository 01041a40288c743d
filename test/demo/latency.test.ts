import { expect, it } from 'vitest'
import { createLatency } from '../../src/demo/latency.ts'

it('stays within the range of its kind of page', () => {
  const latency = createLatency('a')
  const drawn = Array.from({ length: 2_000 }, () => latency('products', 1))
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(60)
  expect(Math.max(...drawn)).toBeLessThanOrEqual(180)
  const middle = drawn.toSorted((a, b) => a - b)[1_000] ?? 0
  expect(middle).toBeGreaterThan(90)
  expect(middle).toBeLessThan(120)
})

it('is deterministic for a seed, and grows with concurrent requests', () => {
  expect(createLatency('a')('cms', 8)).toBe(createLatency('a')('cms', 1))
  expect(createLatency('a')('cms', 18)).toBeCloseTo(createLatency('a')('cms', 1) * 1.6)
  expect(createLatency('b')('cms', 1)).not.toBe(createLatency('a')('cms', 1))
  expect(createLatency('a')('file', 100)).toBe(0)
})
