import { describe, expect, it } from 'vitest'
import { ago, share, shortBytes, shortMs, shortRate, shortSpan } from '../../src/tui/text/amount.ts'
import { bar, sparkline } from '../../src/tui/text/chart.ts'
import { beside, fitLine, join, lineWidth, span, spread, toText } from '../../src/tui/text/line.ts'
import { cells, cut, cutMiddle, cutUrl, padEnd, padStart, wrap } from '../../src/tui/text/width.ts'
import { toAscii } from '../../src/tui/ascii.ts'

describe('the width of a text', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['é', 1],
    ['e\u0301', 1],
    ['👍', 2],
    ['✅⚡⭐❌☕', 10],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['', 0],
    ['━▏…', 3],
  ])('%j takes %i cells', (text, expected) => {
    expect(cells(text)).toBe(expected)
  })

  it.each([1, 2, 3, 5, 8, 13, 40])('nothing is wider than the %i cells that it was cut to', (width) => {
    for (const text of [
      'a rather long text about shoes',
      '日本語のとても長いテキスト',
      'mixed 日本 text 👍👍',
      '/de/damen/schuhe?p=14&order=price',
    ]) {
      expect(cells(cut(text, width))).toBeLessThanOrEqual(width)
      expect(cells(cutMiddle(text, width))).toBeLessThanOrEqual(width)
      expect(cells(padEnd(text, width))).toBe(width)
      expect(cells(padStart(text, width))).toBe(width)
      for (const line of wrap(text, Math.max(2, width))) expect(cells(line)).toBeLessThanOrEqual(Math.max(2, width))
    }
  })

  it('what is cut off is seen, and of a URL the end is kept', () => {
    expect(cut('abcdef', 4)).toBe('abc…')
    expect(cutMiddle('/de/damen/schuhe/sneaker-42', 15)).toBe('/de/…sneaker-42')
  })

  it('URLs are decoded for reading, but not what has a meaning in a URL or no shape of its own', () => {
    expect(cutUrl('/%E9%9D%B4/%F0%9F%91%9F?q=%C3%BC', 40)).toBe('/靴/👟?q=ü')
    // A slash, a blank, an escape sequence, a C1 control, a bidirectional override, a zero-width blank, and no UTF-8.
    for (const url of ['/a%2Fb', '/a%20b', '/%1b[2J', '/%C2%9B2J', '/%E2%80%AEgpj', '/%E2%80%8B', '/%FF%FE', '/%E9%9D'])
      expect(cutUrl(url, 40)).toBe(url)
    // A Hangul filler, a variation selector, a combining joiner and a blank Braille pattern, which draw nothing.
    for (const invisible of ['%E3%85%A4', '%EF%B8%8F', '%CD%8F', '%E2%A0%80'])
      expect(cutUrl(`/shoes${invisible}`, 40)).toBe(`/shoes${invisible}`)
    expect(cutUrl('/a%CC%88rmel/%E0%A4%B9%E0%A4%BF', 40)).toBe('/a\u0308rmel/हि')
    expect(cells(cutUrl(`/${'%E9%9D%B4'.repeat(60)}`, 21))).toBeLessThanOrEqual(21)
  })

  it('what could steer a terminal is an escape, and is measured as one', () => {
    expect(cut('a\u001b[2Jb', 40)).toBe('a\\u{1b}[2Jb')
    expect(cells(padEnd('\u001b]8;;http://evil\u0007x', 20))).toBe(20)
    expect(wrap('a\nb', 40)).toEqual(['a\\u{a}b'])
  })

  it('a text is broken at blanks, and a word without any where it must be', () => {
    expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four'])
    expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij'])
  })
})

describe('lines', () => {
  it('are cut or filled to exactly their width', () => {
    for (const width of [1, 3, 6, 9, 20])
      expect(lineWidth(fitLine([span('abc'), span('日本'), span('x')], width))).toBe(width)
  })

  it('what stands at the right goes first where there is no room', () => {
    expect(toText(spread([span('left')], [span('right')], 12))).toBe('left   right')
    expect(toText(spread([span('left')], [span('right')], 9))).toBe('left')
  })

  it('the last of joined parts are left out', () => {
    const parts = [[span('one')], [span('two')], [span('three')]]
    expect(toText(join(parts, 40))).toBe('one · two · three')
    expect(toText(join(parts, 10))).toBe('one · two')
  })

  it('two blocks stand side by side, whichever is longer', () => {
    expect(beside([[span('a')]], [[span('b')], [span('c')]], 3, '|').map(toText)).toEqual(['a  |b', '   |c'])
  })
})

describe('charts', () => {
  it.each([0, 0.01, 12.34, 50, 99.99, 100])('a bar of %f percent is exactly as wide as asked for', (percentage) => {
    for (const width of [10, 33, 80]) {
      const { done, open } = bar(percentage, width)
      expect(cells(done + open)).toBe(width)
    }
  })

  it('a bar is full only when all is done', () => {
    expect(bar(99.999, 10).done).toBe('█████████▉')
    expect(bar(100, 10)).toEqual({ done: '█'.repeat(10), open: '' })
  })

  it('a sparkline shows pauses, and its best second at full height', () => {
    expect(sparkline([0, 1, 4, 8], 6)).toBe('   ▁▄█')
    expect(sparkline([], 3)).toBe('   ')
  })
})

describe('amounts', () => {
  it.each([
    [null, '-'],
    [0, '0 ms'],
    [1.24, '1.2 ms'],
    [340.4, '340 ms'],
    [999.7, '1.0 s'],
    [1900, '1.9 s'],
    [59_600, '60 s'],
    [600_000, '10 min'],
  ])('%j ms reads %s', (ms, expected) => {
    expect(shortMs(ms)).toBe(expected)
  })

  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [80, '1 min 20 s'],
    [599, '9 min 59 s'],
    [720, '12 min'],
    [3599, '60 min'],
    [7500, '2 h 5 min'],
    [90_000, '25 h'],
  ])('%i seconds read %s', (seconds, expected) => {
    expect(shortSpan(seconds)).toBe(expected)
  })

  it('rates, shares, bytes and ages', () => {
    expect([0, 7.83, 78.4, 1234].map(shortRate)).toEqual(['0', '7.8', '78', '1,234'])
    expect([share(0, 0), share(1, 120), share(1, 8), share(8, 8)]).toEqual(['0 %', '0.8 %', '13 %', '100 %'])
    expect([512, 1000, 1536, 117_440_512].map(shortBytes)).toEqual(['512 B', '1 KB', '1.5 KB', '112 MB'])
    expect([ago(1000, 2000), ago(0, 12_000), ago(0, 180_000)]).toEqual(['now', '12 s ago', '3 min ago'])
  })
})

it('a terminal without these signs gets others of the same width', () => {
  expect(toAscii('━ Failed ● ██▍░ …')).toBe('= Failed * ###- ~')
})
