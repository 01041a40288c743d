import { expect, it } from 'vitest'
import { free, Slab } from '../../src/lib/buffers.ts'

it('gives each byte once, also where a slab ends', () => {
  const slab = new Slab(2 ** 18)
  const cuts = Array.from({ length: 2_000 }, (_, n) => slab.next((n * 37) % 4_096).fill(n % 251))
  for (const [n, cut] of cuts.entries()) {
    expect(cut).toHaveLength((n * 37) % 4_096)
    expect(cut.every((byte) => byte === n % 251)).toBe(true)
  }
})

it('shares a slab among the cuts that follow each other', () => {
  const slab = new Slab(2 ** 18)
  const [first, second] = [slab.next(5_000), slab.next(5_000)]
  expect(second.buffer).toBe(first.buffer)
  expect(second.byteOffset).toBe(first.byteOffset + 5_000)
})

it('gives a large buffer memory of its own', () => {
  const slab = new Slab(1_000)
  const [small, large, next] = [slab.next(250), slab.next(251), slab.next(250)]
  expect(large.buffer.byteLength).toBe(251)
  expect(next.buffer).toBe(small.buffer)
})

it('empties a buffer that has its memory for itself, and no other', () => {
  const own = Buffer.allocUnsafeSlow(20_000)
  const shared = Buffer.from('from the pool of Node')
  const part = Buffer.alloc(100, 'a').subarray(0, 50)
  for (const bytes of [own, shared, part, Buffer.alloc(0)]) free(bytes)
  expect([own.length, shared.toString(), part.toString()]).toEqual([0, 'from the pool of Node', 'a'.repeat(50)])
})
