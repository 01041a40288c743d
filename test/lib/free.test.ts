import { expect, it } from 'vitest'
import { free } from '../../src/lib/free.ts'

it('empties a buffer that has its memory for itself, and no other', () => {
  const own = Buffer.allocUnsafeSlow(20_000)
  const shared = Buffer.from('from the pool of Node')
  const part = Buffer.alloc(100, 'a').subarray(0, 50)
  for (const bytes of [own, shared, part, Buffer.alloc(0)]) free(bytes)
  expect([own.length, shared.toString(), part.toString()]).toEqual([0, 'from the pool of Node', 'a'.repeat(50)])
})
