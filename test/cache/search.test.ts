import { expect, it } from 'vitest'
import { findAny } from '../../src/cache/search.ts'

it('a needle is found wherever it stands, and none that does not', () => {
  expect(findAny('abcdefgh', ['xxxx', 'abcd'])).toBe('abcd')
  expect(findAny('abcdefgh', ['efgh'])).toBe('efgh')
  expect(findAny('abcdefgh', ['cdef', 'defghi'])).toBe('cdef')
  expect(findAny('abcdefgh', ['abcx', 'efghi'])).toBeNull()
  expect(findAny('abc', ['abcd'])).toBeNull()
  expect(findAny('', ['abcd'])).toBeNull()
  expect(findAny('abcdefgh', [])).toBeNull()
  expect(findAny('größe', ['größe'])).toBe('größe')
})

it('thousands of needles made for a text end the search early, as if one of them stood there', () => {
  const needles = Array.from({ length: 2000 }, (_, n) => `piece-${n}`)
  expect(findAny('piece- '.repeat(20_000), needles)).not.toBeNull()
  expect(findAny('another text '.repeat(20_000), needles)).toBeNull()
})
