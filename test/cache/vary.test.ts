import { expect, it } from 'vitest'
import { varyNames } from '../../src/cache/vary.ts'

it('an answer that varies by more fields than a page may is one that varies by everything', () => {
  const names = (count: number) => Array.from({ length: count }, (_, number) => `X-${number}`)
  expect(varyNames([['Vary', [...names(64), 'x-1'].join(', ')]])).toHaveLength(64)
  expect(varyNames([['Vary', names(65).join(', ')]])).toBe('*')
})
