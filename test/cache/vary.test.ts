import { expect, it } from 'vitest'
import { varyNames } from '../../src/cache/vary.ts'

it('a Vary with too many fields counts as *', () => {
  const names = (count: number) => Array.from({ length: count }, (_, number) => `X-${number}`)
  expect(varyNames([['Vary', [...names(64), 'x-1'].join(', ')]])).toHaveLength(64)
  expect(varyNames([['Vary', names(65).join(', ')]])).toBe('*')
})
