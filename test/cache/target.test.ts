import { describe, expect, it } from 'vitest'
import { marketingParameters } from '../../src/cache/ignored-parameters.ts'
import { canonicaliser, lenientPath, removeDotSegments } from '../../src/cache/target.ts'

const canonical = canonicaliser([...marketingParameters, 'ref', 'own_*'])
const form = (raw: string) => {
  const { path, query } = canonical(raw)
  return path + query
}

describe('the canonical form of a target', () => {
  it.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/', '/a/'],
    ['/a?', '/a'],
    ['/a?&&', '/a'],
    ['/a?b=2&a=1', '/a?a=1&b=2'],
    ['/a?a=2&a=1', '/a?a=2&a=1'],
    ['/a?b&a', '/a?a&b'],
    ['/a?a=&b', '/a?a=&b'],
    ['/a?A=1&a=1', '/a?A=1&a=1'],
    ['/%61', '/a'],
    ['/%7Euser', '/~user'],
    ['/%c3%a4', '/%C3%A4'],
    ['/a%2fb', '/a%2Fb'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a b', '/a%20b'],
    ['/a+b', '/a+b'],
    ['/a|b', '/a%7Cb'],
    ['/\xe4', '/%E4'],
    ['/%', '/%25'],
    ['/%zz', '/%25zz'],
    ['/%a%41', '/%25aA'],
    ['/.%2%65/a', '/.%252e/a'],
    ['/a/../b', '/b'],
    ['/a/./b', '/a/b'],
    ['/../../a', '/a'],
    ['/a/..', '/'],
    ['/a/b/.', '/a/b/'],
    ['/a/%2e%2e/b', '/b'],
    ['/a/%2E./b', '/b'],
    ['/...', '/...'],
    ['/a//b', '/a//b'],
    ['/a;x=1', '/a;x=1'],
    ['/a?x=%41%2f', '/a?x=A%2F'],
    ['/a?x=1?y=2', '/a?x=1?y=2'],
    ['/a?%62=1&a=2', '/a?a=2&b=1'],
    ['/a?q=a+b&p=%2B', '/a?p=%2B&q=a+b'],
  ])('%j is %j', (raw, wanted) => {
    expect(form(raw)).toBe(wanted)
  })

  it.each([
    '/a?utm_source=x',
    '/a?gclid=1',
    '/a?%75tm_source=x',
    '/a?utm%5Fsource=x',
    '/a?ref=1',
    '/a?own_thing',
    '/a?fbclid=1&utm_medium=2',
  ])('%s has only ignored parameters', (raw) => {
    expect(form(raw)).toBe('/a')
  })

  it.each(['/a?utm=x', '/a?UTM_SOURCE=x', '/a?refx=1', '/a?xref=1', '/a?my_own_=1', '/a?own=1'])(
    '%s keeps its parameter',
    (raw) => {
      expect(form(raw)).toBe(raw)
    },
  )
})

describe('the canonical form of random targets', () => {
  const targets = randomTargets(2000)

  it('is idempotent', () => {
    for (const raw of targets) expect(form(form(raw)), raw).toBe(form(raw))
  })

  it('does not depend on the order of different parameters', () => {
    for (const raw of targets) {
      const [path = '', query] = raw.split(/\?(.*)/s)
      if (query === undefined) continue
      const parts = query.split('&')
      if (new Set(parts.map((part) => form(`/?${part}`).replace(/=.*/, ''))).size !== parts.length) continue
      expect(form(`${path}?${parts.toReversed().join('&')}`), raw).toBe(form(raw))
    }
  })

  it('keeps the order of parameters of one name', () => {
    for (const raw of targets) {
      const values = (text: string) => [...text.matchAll(/[?&]n=(\w*)/g)].map((match) => match[1])
      expect(values(form(raw)), raw).toEqual(values(raw.replace(/^[^?]*/, '')))
    }
  })

  it('contains no dot segment, space or control character', () => {
    for (const raw of targets) {
      const { path, query } = canonical(raw)
      expect(path, raw).toMatch(/^\//)
      expect(path, raw).not.toMatch(/\/\.{1,2}(\/|$)/)
      // oxlint-disable-next-line no-control-regex
      expect(path + query, raw).not.toMatch(/[\x00-\x20\x7f-\uffff#]/)
    }
  })
})

/** Deterministic, so that a failure can be reproduced. */
function randomTargets(count: number): string[] {
  let seed = 42
  const next = (limit: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % limit
  const bits = [
    'a',
    'B',
    '.',
    '..',
    '/',
    '//',
    '%2e',
    '%2F',
    '%41',
    '%c3',
    '%',
    '%z',
    ' ',
    '"',
    '\xe9',
    '~',
    ';',
    ':',
    '@',
    '+',
    '|',
    '^',
  ]
  const pick = () => bits[next(bits.length)]!
  const names = ['a', 'b', 'n', 'B', '%61', 'utm_source', 'x%20y', '']
  return Array.from({ length: count }, () => {
    const path = `/${Array.from({ length: next(6) }, pick).join('')}`
    const query = Array.from({ length: next(6) }, () =>
      next(3) === 0 ? `n=${next(10)}` : `${names[next(names.length)]}=${pick().replaceAll('/', '')}`,
    )
    return query.length === 0 ? path : `${path}?${query.join('&')}`
  })
}

it.each([
  ['/a/b/../c', '/a/c'],
  ['/a/b/c/./../../g', '/a/g'],
  ['/..', '/'],
  ['/.', '/'],
  ['/a/..b/.c', '/a/..b/.c'],
])('RFC 3986 §5.2.4: %s is %s', (path, wanted) => {
  expect(removeDotSegments(path)).toBe(wanted)
})

it.each([
  '/Account',
  '/%41ccount',
  '/%2541ccount',
  '//account',
  '/./account',
  '/x/../account',
  '/x%2f..%2faccount',
  '/account;x',
  '/\\account',
  '/x\\..\\account',
])('%s may be read as /account', (path) => {
  expect(lenientPath(path)).toBe('/account')
})
