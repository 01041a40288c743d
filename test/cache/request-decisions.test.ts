import { describe, expect, it } from 'vitest'
import type { HeaderPair } from '../../src/pages/page.ts'
import { bestEncodings } from '../../src/cache/accept-encoding.ts'
import { isNotModified, matchesEntityTag, rangeStillHolds, weaken } from '../../src/cache/conditional.ts'
import { parseContentRange, parseRange } from '../../src/cache/range.ts'
import { at, now } from './decision-inputs.ts'

describe('ranges', () => {
  it.each<[string | null, number, unknown]>([
    [null, 10, null],
    ['bytes=0-', 10, { start: 0, end: 9 }],
    ['bytes=-4', 10, { start: 6, end: 9 }],
    ['bytes=-99', 10, { start: 0, end: 9 }],
    ['bytes = 2 - 3', 10, { start: 2, end: 3 }],
    ['bytes=1 0-2 0', 50, null],
    ['by tes=1-2', 50, null],
    ['bytes=9-99', 10, { start: 9, end: 9 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-4', 0, null],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=-', 10, null],
    ['bytes=3-2', 10, null],
    ['bytes=0-1,3-4', 10, null],
    ['pages=1-2', 10, null],
    ['bytes=0-\xa05', 10, null],
  ])('%j of %i bytes', (header, size, range) => {
    expect(parseRange(header, size)).toEqual(range)
  })

  it.each([
    null,
    'bytes 0-1/*',
    'bytes */10',
    'bytes 5-2/10',
    'bytes 0-10/10',
    'lines 0-1/2',
    'bytes 0-1',
    '\xa0bytes 0-1/2',
  ])('Content-Range %j is rejected', (header) => {
    expect(parseContentRange(header)).toBeNull()
  })

  it('parses Content-Range', () => {
    expect(parseContentRange(' Bytes 0-1/2 ')).toEqual({ start: 0, end: 1, total: 2 })
  })
})

describe('preconditions', () => {
  it.each([
    ['"a"', '"a"', true],
    ['W/"a"', '"a"', true],
    ['"b", W/"a"', 'W/"a"', true],
    ['a', '"a"', true],
    ['"a"', 'a', true],
    ['*', '"x"', true],
    ['*', null, true],
    ['"a"', null, false],
    ['"A"', '"a"', false],
    ['"*"', '"a"', false],
    ['', '"a"', false],
    ['"a', '"ab"', false],
    ['\xa0*', '"a"', false],
  ])('%s against %s', (condition, etag, matches) => {
    expect(matchesEntityTag(condition, etag)).toBe(matches)
  })

  it('If-None-Match overrides If-Modified-Since', () => {
    const headers: HeaderPair[] = [
      ['ETag', '"a"'],
      ['Last-Modified', at(-100)],
    ]
    expect(isNotModified({ ifNoneMatch: '"b"', ifModifiedSince: at(0) }, headers, now)).toBe(false)
    expect(isNotModified({ ifNoneMatch: null, ifModifiedSince: at(-100) }, headers, now)).toBe(true)
    expect(isNotModified({ ifNoneMatch: null, ifModifiedSince: null }, headers, now)).toBe(false)
  })

  it('If-Range requires a strong validator', () => {
    const headers: HeaderPair[] = [
      ['ETag', '"a"'],
      ['Last-Modified', at(-100)],
      ['Date', at(0)],
    ]
    for (const condition of [null, '"a"', at(-100)]) expect(rangeStillHolds(condition, headers, now)).toBe(true)
    for (const condition of ['W/"a"', '"b"', at(-101), 'x'])
      expect(rangeStillHolds(condition, headers, now)).toBe(false)
    expect(rangeStillHolds(at(-100), headers.with(2, ['Date', at(-100)]), now)).toBe(false)
  })

  it('weakens an entity tag only once', () => {
    expect(weaken(weaken('"a"'))).toBe('W/"a"')
  })
})

describe('Accept-Encoding', () => {
  it.each<[string | null, string[]]>([
    [null, ['identity']],
    ['', ['identity']],
    ['gzip, deflate, br, zstd', ['br', 'zstd', 'gzip']],
    ['gzip', ['gzip']],
    ['X-GZIP', ['gzip']],
    ['gzip;q=1, br;q=0.5', ['gzip']],
    ['br;q=0, *', ['zstd', 'gzip']],
    ['*', ['br', 'zstd', 'gzip']],
    ['*;q=0', ['identity']],
    ['identity;q=0, gzip', ['gzip']],
    ['identity, gzip;q=0.5', ['identity']],
    ['gzip;q=0.000', ['identity']],
    ['gzip ; q=0.3 , br ; Q=0.2', ['gzip']],
    ['gzip;q=x', ['identity']],
    ['deflate, compress', ['identity']],
  ])('%j', (header, codings) => {
    expect(bestEncodings(header)).toEqual(codings)
  })
})
