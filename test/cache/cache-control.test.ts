import { describe, expect, it } from 'vitest'
import type { HeaderPair } from '../../src/pages/page.ts'
import { directivesOf, parseDirectives, requestDirectives } from '../../src/cache/cache-control.ts'

const of = (value: string) => directivesOf([['Cache-Control', value]])

describe('parsing Cache-Control', () => {
  it.each<[string | null, [string, string | null][]]>([
    [null, []],
    ['', []],
    ['public', [['public', null]]],
    [
      'a,b',
      [
        ['a', null],
        ['b', null],
      ],
    ],
    ['A=B', [['a', 'B']]],
    ['a="b, c"', [['a', 'b, c']]],
    ['a="b\\"c"', [['a', 'b"c']]],
    [
      'a="b\\\\", c',
      [
        ['a', 'b\\'],
        ['c', null],
      ],
    ],
    ['a=""', [['a', '']]],
    [
      ' a , , b ',
      [
        ['a', null],
        ['b', null],
      ],
    ],
    ['max-age = 5', [['max-age', '']]],
    ['=5', []],
    [
      'a="open, no-store',
      [
        ['a', ''],
        ['no-store', null],
      ],
    ],
    [
      'x private',
      [
        ['x', ''],
        ['private', null],
      ],
    ],
  ])('%j', (value, elements) => {
    expect(parseDirectives(value).map(({ name, value: argument }) => [name, argument])).toEqual(elements)
  })

  it('parses hostile values', () => {
    for (const text of ['"'.repeat(50_000), 'a="'.repeat(20_000), 'a=b,'.repeat(20_000), 'no-store '.repeat(10_000)])
      expect(parseDirectives(text)).toBeInstanceOf(Array)
  })
})

describe('the directives of a response', () => {
  it('reads all directives', () => {
    expect(
      of(
        'public, max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4, must-revalidate, proxy-revalidate, must-understand, no-transform',
      ),
    ).toMatchObject({
      present: true,
      public: true,
      private: false,
      noStore: false,
      noCache: false,
      maxAge: 1,
      sMaxage: 2,
      staleWhileRevalidate: 3,
      staleIfError: 4,
      mustRevalidate: true,
      proxyRevalidate: true,
      mustUnderstand: true,
      noTransform: true,
      targeted: false,
    })
  })

  it('no directive at all', () => {
    expect(directivesOf([])).toMatchObject({
      present: false,
      maxAge: null,
      sMaxage: null,
      staleWhileRevalidate: 0,
      staleIfError: 0,
    })
  })

  it('no-cache with fields keeps only those fields from being stored', () => {
    expect(of('no-cache="X-A, x-b", max-age=5')).toMatchObject({ noCache: false, unstoredFields: ['x-a', 'x-b'] })
    expect(of('no-cache="x-a", no-cache')).toMatchObject({ noCache: true, unstoredFields: ['x-a'] })
  })

  it.each(['max-age=60', 'max-age="60"', 'MAX-AGE=060', 'max-age=60, max-age=61'])('%s is 60 seconds', (value) => {
    expect(of(value).maxAge).toBe(60)
  })

  it.each(['max-age', 'max-age=', 'max-age=-1', 'max-age=1.5', 'max-age=x', 'max-age=60, max-age', 'max-age=60s'])(
    '%s is stale at once',
    (value) => {
      expect(of(value).maxAge).toBe(0)
    },
  )

  it('caps larger numbers at 2^31', () => {
    expect(of(`max-age=${'9'.repeat(400)}`).maxAge).toBe(2 ** 31)
  })

  it('a valid targeted field replaces Cache-Control entirely', () => {
    const headers: HeaderPair[] = [
      ['Cache-Control', 'no-store, s-maxage=1'],
      ['CDN-Cache-Control', 'max-age=60'],
    ]
    expect(directivesOf(headers)).toMatchObject({ targeted: true, noStore: false, sMaxage: null, maxAge: 60 })
    expect(directivesOf([headers[0]!, ['CDN-Cache-Control', 'max-age=60,']])).toMatchObject({
      targeted: false,
      noStore: true,
    })
  })

  it('reads the directives of a request', () => {
    expect(
      requestDirectives([
        ['Cache-Control', 'no-cache, Only-If-Cached'],
        ['cache-control', 'NO-STORE'],
      ]),
    ).toEqual({ noStore: true, onlyIfCached: true })
    expect(requestDirectives([['Cache-Control', 'no-cache']])).toEqual({ noStore: false, onlyIfCached: false })
  })
})

describe('a malformed CDN-Cache-Control', () => {
  it.each([
    'A',
    'a=',
    'a=1,',
    ',a',
    'a b',
    'a=1 b=2',
    'a="x',
    'a="x\\y"',
    'a=1.',
    'a=1.2345',
    'a=1234567890123456',
    'a=(1',
    'a=?2',
    'a;B',
    'a;=1',
    'a=\x01',
    '1a',
    'a=1,,b',
  ])('%j is ignored', (text) => {
    const headers: HeaderPair[] = [['CDN-Cache-Control', `max-age=60, ${text}`]]
    expect(directivesOf(headers)).toMatchObject({ targeted: false, maxAge: null })
  })
})
