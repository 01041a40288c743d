import { expect, it } from 'vitest'
import { NeedleSearch } from '../../src/cache/search.ts'
import { pick, random } from '../helpers/random.ts'

function find(text: string, needles: readonly string[]): string | null {
  return new NeedleSearch(needles).find(Buffer.from(text, 'latin1'))
}

it('finds needles at any position, and only those in the text', () => {
  expect(find('abcdefgh', ['xxxx', 'abcd'])).toBe('abcd')
  expect(find('abcdefgh', ['efgh'])).toBe('efgh')
  expect(find('abcdefgh', ['cdef', 'defghi'])).toBe('cdef')
  expect(find('abcdefgh', ['abcx', 'efghi'])).toBeNull()
  expect(find('abc', ['abcd'])).toBeNull()
  expect(find('', ['abcd'])).toBeNull()
  expect(find('größe', ['größe'])).toBe('größe')
})

it('finds letters in either case, and no other characters that differ in the same bit', () => {
  expect(find('<P>GRÖSSE Ärger</P>', ['größe', 'ärger'])).toBe('ärger')
  expect(find('abc@defg', ['abc`defg'])).toBeNull()
  expect(find('[test]', ['{test}'])).toBeNull()
})

it('finds what a plain search finds', () => {
  const next = random(7)
  const word = (length: number) => Array.from({ length }, () => pick(next, [...'aAbB--1ÄäÖ×÷'])).join('')
  for (let round = 0; round < 3_000; round++) {
    const needles = Array.from({ length: 1 + (round % 12) }, () => word(4 + Math.floor(next() * 8)).toLowerCase())
    const text = word(Math.floor(next() * 300))
    const found = find(text, needles)
    const expected = needles.filter((needle) => text.toLowerCase().includes(needle))
    if (expected.length === 0) expect(found, `${text}: ${needles.join()}`).toBeNull()
    else expect(expected).toContain(found)
  }
})

it('finds a short needle by its characters without case, however often a text has these', () => {
  expect(find('Linux X86_64;', ['x86_64'])).toBe('x86_64')
  expect(find('86_64, x86-64', ['x86_64'])).toBeNull()
  expect(find(`${'86_64 '.repeat(100)}X86_64`, ['x86_64'])).toBe('x86_64')
  expect(find('86_64 '.repeat(100), ['x86_64'])).toBeNull()
  expect(find('000001', ['0001'])).toBe('0001')
  expect(find('0000', ['a000'])).toBeNull()
})

it('finds the spellings of a value by what they have in common, however often a text has that', () => {
  const spellings = ['mozilla/5.0 (x11', 'mozilla%2f5.0%20(x11', 'mozilla\\/5.0 (x11', 'rv:140.0) gecko/20100101']
  const text = `<p>Gecko/20100101 ${'5.0 '.repeat(20)}${'word '.repeat(1000)}`
  for (const needle of spellings) {
    expect(find(`${text}${needle.toUpperCase()}</p>`, spellings)).toBe(needle)
    expect(find(`${needle.slice(1)}${text}${needle.slice(0, -1)}`, spellings)).toBeNull()
    expect(find(`${'5.0 20100101'.repeat(100)}${needle}`, spellings)).toBe(needle)
  }
})

it('finds what a plain search finds among needles with common characters', () => {
  const next = random(8)
  const word = (length: number) => Array.from({ length }, () => pick(next, [...'aA--1.5 x'])).join('')
  for (let round = 0; round < 3_000; round++) {
    const needles = Array.from({ length: 1 + (round % 5) }, () => word(8 + Math.floor(next() * 4)).toLowerCase())
    const start = word(Math.floor(next() * 200))
    const text = next() < 0.5 ? start : start + pick(next, needles).toUpperCase() + word(20)
    const expected = needles.filter((needle) => text.toLowerCase().includes(needle))
    const found = find(text, needles)
    if (expected.length === 0) expect(found, `${text}: ${needles.join()}`).toBeNull()
    else expect(expected).toContain(found)
  }
})

it('ends the search early as found when needles are crafted for the text', () => {
  const needles = Array.from({ length: 2000 }, (_, n) => `piece-${n}!`)
  expect(find('piece-10 '.repeat(20_000), needles)).not.toBeNull()
  expect(find('another text '.repeat(20_000), needles)).toBeNull()
})
