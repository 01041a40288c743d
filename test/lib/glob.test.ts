import { describe, expect, it } from 'vitest'
import { globMatcher } from '../../src/lib/glob.ts'

describe('globMatcher', () => {
  it.each([
    ['', ['']],
    ['*', ['', 'a', 'a\nb', 'a/b']],
    ['/a', ['/a']],
    ['/a*', ['/a', '/ab']],
    ['*.gif', ['.gif', 'a.gif', '.gif.gif']],
    ['/*/x/*', ['/a/x/', '/a/x/x/', '//x/']],
    ['a*a', ['aa', 'aba']],
    ['**a**', ['a', 'bab']],
    [`*${'ab'.repeat(40)}*`, [`x${'ab'.repeat(41)}y`]],
    ['*ü*', ['über']],
    ['[ab]', ['[ab]']],
  ])('%s', (pattern, texts) => {
    for (const text of texts) expect(globMatcher(pattern)(text), text).toBe(true)
  })

  it.each([
    ['', ['a']],
    ['/a', ['/a/', '/', 'x/a']],
    ['a*a', ['a', 'ab']],
    ['*.gif', ['.gif?', 'gif']],
    [`*${'ab'.repeat(40)}*`, ['ab'.repeat(39)]],
    ['a.c', ['abc']],
  ])('does not match: %s', (pattern, texts) => {
    for (const text of texts) expect(globMatcher(pattern)(text), text).toBe(false)
  })

  it('a set matches one of its characters or ranges; an unclosed one is literal', () => {
    const matches = (pattern: string, text: string) => globMatcher(pattern, { sets: true })(text)
    expect(matches('*[?&]p=*', '/x?a=1&p=2')).toBe(true)
    expect(matches('*[?&]p=*', '/xp=2')).toBe(false)
    expect(matches('/[0-9a]/', '/7/')).toBe(true)
    expect(matches('/[0-9a]/', '/b/')).toBe(false)
    expect(matches('[^-]', '^')).toBe(true)
    expect(matches('[]', '[]')).toBe(true)
    expect(matches('[a', '[a')).toBe(true)
    expect(matches('*[à-ü]*', 'xéx')).toBe(true)
  })
})

/** Reference implementation by definition, in exponential time. */
function matchesSlowly(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  if (pattern[0] === '*')
    return matchesSlowly(pattern.slice(1), text) || (text !== '' && matchesSlowly(pattern, text.slice(1)))
  return pattern[0] === text[0] && matchesSlowly(pattern.slice(1), text.slice(1))
}

it('agrees with the reference on all short patterns and texts', () => {
  const words = (alphabet: string, longest: number): string[] => {
    let last = ['']
    const all = ['']
    for (let length = 1; length <= longest; length++)
      all.push(...(last = last.flatMap((word) => [...alphabet].map((letter) => word + letter))))
    return all
  }
  const texts = words('ab', 6)
  for (const pattern of words('ab*', 5)) {
    const matches = globMatcher(pattern)
    for (const text of texts) if (matches(text) !== matchesSlowly(pattern, text)) expect.fail(`${pattern} and ${text}`)
  }
})

it('finds parts longer than a machine word at any position', () => {
  for (const length of [31, 32, 33, 63, 64, 65, 97]) {
    const part = `${'a'.repeat(length - 1)}b`
    const matches = globMatcher(`*${part}*c`)
    for (const before of [0, 1, 31, 32, 40])
      expect(matches(`${'a'.repeat(before)}${part}c`), `${length}, ${before}`).toBe(true)
    expect(matches(`${part.slice(1)}c`)).toBe(false)
  }
})
