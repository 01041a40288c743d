import { expect, it } from 'vitest'
import { Memo } from '../../src/lib/memo.ts'

it('computes a result once for the same inputs, and again for others', () => {
  const memo = new Memo()
  let computed = 0
  const count = (...inputs: unknown[]) => memo.of('count', inputs, () => (computed += 1))
  const list: string[] = []
  expect([count(list, 1), count(list, 1)]).toEqual([1, 1])
  expect([count([], 1), count(list, 1), count(list, 2)]).toEqual([2, 3, 4])
})

it('keeps results by name', () => {
  const memo = new Memo()
  expect(memo.of('one', [], () => 1)).toBe(1)
  expect(memo.of('two', [], () => null)).toBe(null)
  expect(memo.of('one', [], () => 3)).toBe(1)
  expect(memo.of('two', [], () => 'new')).toBe(null)
})

it('forgets all when names do not end', () => {
  const memo = new Memo()
  memo.of('first', [], () => 'old')
  for (let n = 0; n < 100; n++) memo.of(`name ${n}`, [], () => n)
  expect(memo.of('first', [], () => 'new')).toBe('new')
})
