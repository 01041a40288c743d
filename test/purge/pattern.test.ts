import { expect, it } from 'vitest'
import { toMatcher } from '../../src/purge/pattern.ts'

it('an expression is matched against path and query', () => {
  const matches = toMatcher('^/blog/.*[?&]p=2')
  expect(matches('http://shop.example/blog/x?p=2')).toBe(true)
  expect(matches('http://shop.example/x/blog/?p=2')).toBe(false)
  expect(matches('http://blog/')).toBe(false)
})

it('a URL that is too long for a large expression counts as a match; a small expression is evaluated', () => {
  const url = `http://shop.example/${'x'.repeat(8000)}`
  expect(toMatcher('(x?){500}x{500}[yz]$')(url)).toBe(true)
  expect(toMatcher('(x?){500}x{500}[yz]$')(url.slice(0, 100))).toBe(false)
  expect(toMatcher('(x+)+[yz]$')(url)).toBe(false)
})
