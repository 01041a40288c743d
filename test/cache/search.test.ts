import { expect, it } from 'vitest'
import { findAny } from '../../src/cache/search.ts'

it('finds needles at any position, and only those in the text', () => {
  expect(findAny('abcdefgh', ['xxxx', 'abcd'])).toBe('abcd')
  expect(findAny('abcdefgh', ['efgh'])).toBe('efgh')
  expect(findAny('abcdefgh', ['cdef', 'defghi'])).toBe('cdef')
  expect(findAny('abcdefgh', ['abcx', 'efghi'])).toBeNull()
  expect(findAny('abc', ['abcd'])).toBeNull()
  expect(findAny('', ['abcd'])).toBeNull()
  expect(findAny('abcdefgh', [])).toBeNull()
  expect(findAny('größe', ['größe'])).toBe('größe')
})

it('ends the search early as found when needles are crafted for the text', () => {
  const needles = Array.from({ length: 2000 }, (_, n) => `piece-${n}`)
  expect(findAny('piece- '.repeat(20_000), needles)).not.toBeNull()
  expect(findAny('another text '.repeat(20_000), needles)).toBeNull()
})

it('remembers no needle of an earlier search', () => {
  expect(findAny('abcdefgh', ['abcd', 'efgh'])).toBe('abcd')
  expect(findAny('abcdefgh', ['wxyz'])).toBeNull()
  expect(findAny('abcdefgh', ['efgh'])).toBe('efgh')
})
