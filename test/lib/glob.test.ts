import { describe, expect, it, vi } from 'vitest'
import { globMatcher } from '../../src/lib/glob.ts'
import { random } from '../helpers/random.ts'

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

/** The same matcher as a table over all prefixes of the pattern and the text. `null` stands for a star. */
function matchesByTable(places: readonly (string | null)[], text: string): boolean {
  let row = [true, ...Array.from(text, () => false)]
  for (const place of places) {
    const before = row
    row = [place === null && before[0]!]
    for (let index = 0; index < text.length; index++)
      row.push(place === null ? row[index]! || before[index + 1]! : before[index]! && place.includes(text[index]!))
  }
  return row.at(-1)!
}

it('agrees with a table on random patterns with sets', () => {
  const next = random(1)
  const below = (limit: number) => Math.floor(next() * limit)
  const some = <T>(from: readonly T[], longest: number) =>
    Array.from({ length: below(longest + 1) }, () => from[below(from.length)]!)
  // Each place as it is written, with the characters it accepts.
  const written = [
    ['*', null],
    ['a', 'a'],
    ['b', 'b'],
    ['ü', 'ü'],
    ['[ab]', 'ab'],
    ['[a-c]', 'abc'],
    ['[b-]', 'b-'],
    ['[*]', '*'],
  ] as const
  let matched = 0
  for (let round = 0; round < 20_000; round++) {
    const longest = round % 10 === 0 ? 90 : 7
    const places = some(round % 3 === 0 ? written.slice(0, 3) : written, longest)
    const pattern = places.map(([text]) => text).join('')
    const matches = globMatcher(pattern, { sets: true })
    // A text made from the pattern, changed at one place in two.
    const fitting = places.flatMap(([, accepted]) =>
      accepted === null ? some(['a', 'b', 'c'], 4) : [accepted[below(accepted.length)]!],
    )
    if (below(2) === 0) fitting.splice(below(fitting.length + 1), below(2), ...some(['a', 'b', '*', 'ü'], 1))
    for (const text of [fitting.join(''), some(['a', 'b', 'ü', '-'], longest * 2).join('')]) {
      const expected = matchesByTable(
        places.map(([, accepted]) => accepted),
        text,
      )
      if (matches(text) !== expected) expect.fail(`${pattern} and ${text}`)
      if (expected) matched += 1
    }
  }
  expect(matched).toBeGreaterThan(5_000)
})

describe('steps', () => {
  /** A text that counts how often a character of it is read. */
  function counted(text: string) {
    const counter = { reads: 0, text: '' }
    const reading = {
      length: text.length,
      charCodeAt: (index: number) => ((counter.reads += 1), text.charCodeAt(index)),
      // Not counted: it looks for 32 characters at most, and passes nothing twice.
      includes: (part: string, from: number) => part.length <= 32 && text.includes(part, from),
    }
    return Object.assign(counter, { text: reading as unknown as string })
  }

  const size = 16_000
  it.each([
    ['stars', '*'.repeat(size)],
    ['stars and letters', '*a'.repeat(size / 2)],
    ['stars and pairs', '*ab'.repeat(size / 4)],
    ['a letter that the text lacks', `${'*a'.repeat(size / 2)}b*`],
    ['a repetitive part', `*${'a'.repeat(size)}b*`],
    ['parts of all lengths', Array.from({ length: 150 }, (_, length) => `*${'a'.repeat(length)}b`).join('')],
    [
      'different characters',
      `*${Array.from({ length: size }, (_, index) => String.fromCharCode(256 + index)).join('')}*`,
    ],
    ['sets', `*${'[a-z]*'.repeat(size / 8)}`],
    ['sets that are not closed', '['.repeat(size)],
    ['a repetitive part with a set', `*${'a'.repeat(500)}[bc]*`],
  ])('reads each character of a text a few times, and compiles in linear space: %s', (_, pattern) => {
    let cells = 0
    const Cells = Uint32Array
    vi.stubGlobal('Uint32Array', function count(length: number) {
      cells += length
      return new Cells(length)
    })
    try {
      const matches = globMatcher(pattern, { sets: true })
      expect(cells).toBeLessThanOrEqual(pattern.length)
      for (const text of ['a'.repeat(size), 'ab'.repeat(size / 2), `${'a'.repeat(499)}`.repeat(32), pattern]) {
        const counter = counted(text)
        matches(counter.text)
        expect(counter.reads).toBeLessThanOrEqual(2 * text.length + 2)
      }
    } finally {
      vi.unstubAllGlobals()
    }
  })
})
