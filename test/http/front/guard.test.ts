import { describe, expect, it } from 'vitest'
import { examine } from '../../../src/http/front/guard.ts'
import type { HeaderPair } from '../../../src/pages/page.ts'

const check = (headers: readonly HeaderPair[], trusted = false, target = '/page', version = '1.1') =>
  examine({ method: 'GET', target, version, headers }, trusted)

describe('scheme and host, with and without a trusted proxy', () => {
  const cases: [fields: HeaderPair[], trusted: boolean, expected: object][] = [
    [[['Host', 'Shop.Example:80']], false, { scheme: 'http', host: 'shop.example' }],
    [
      [
        ['Host', 'shop.example'],
        ['X-Forwarded-Proto', 'https'],
      ],
      false,
      { scheme: 'http', host: 'shop.example' },
    ],
    [
      [
        ['Host', 'shop.example:443'],
        ['X-Forwarded-Proto', 'https'],
      ],
      true,
      { scheme: 'https', host: 'shop.example' },
    ],
    [
      [
        ['Host', 'inner'],
        ['X-Forwarded-Host', 'evil.example, shop.example'],
      ],
      true,
      { scheme: 'http', host: 'shop.example' },
    ],
    [
      [
        ['Host', 'inner'],
        ['X-Forwarded-Host', 'evil.example'],
        ['X-Forwarded-Host', 'shop.example'],
      ],
      true,
      { scheme: 'http', host: 'shop.example' },
    ],
    [
      [
        ['Host', 'inner'],
        ['X-Forwarded-Host', 'a/x@evil'],
      ],
      true,
      { status: 400 },
    ],
    [
      [
        ['Host', 'inner'],
        ['X-Forwarded-Proto', 'gopher'],
      ],
      true,
      { status: 400 },
    ],
    [
      [
        ['Host', 'a b'],
        ['X-Forwarded-Host', 'shop.example'],
      ],
      true,
      { status: 400 },
    ],
  ]
  it.each(cases)('%j, trusted: %j', (headers, trusted, expected) => {
    expect(check(headers, trusted)).toMatchObject(expected)
  })
})

describe('an absolute form names the site of the Host, in any spelling', () => {
  it.each([
    ['http://shop.example/page', 'shop.example'],
    ['http://shop.example:80/page', 'shop.example'],
    ['http://shop.example/page', 'shop.example:80'],
    ['http://shop.example./page', 'shop.example'],
    ['HTTP://Shop.Example/page', 'SHOP.example.:80'],
  ])('%s with Host %s', (target, host) => {
    expect(check([['Host', host]], false, target)).toEqual({ target: '/page', scheme: 'http', host: 'shop.example' })
  })

  it('the scheme is that of the trusted proxy', () => {
    const fields: HeaderPair[] = [
      ['Host', 'shop.example'],
      ['X-Forwarded-Proto', 'https'],
    ]
    expect(check(fields, true, 'https://shop.example:443')).toMatchObject({ target: '/', scheme: 'https' })
    expect(check(fields, true, 'http://shop.example/')).toMatchObject({ status: 400 })
  })

  it.each([
    'http://other.example/page',
    'http://shop.example:81/page',
    'http://shop.example:443/page',
    'https://shop.example/page',
    'http://shop.example@other.example/page',
    'http://user@shop.example/page',
    'http://shop.example\\@other.example/page',
    'http://shop.example../page',
    'http://shop.example:/page',
    'http:///page',
  ])('%s is refused', (target) => {
    expect(check([['Host', 'shop.example']], false, target)).toMatchObject({ status: 400 })
  })
})

describe('limits', () => {
  const host: HeaderPair = ['Host', 'shop.example']
  const many = (count: number): HeaderPair[] => Array.from({ length: count }, (_, index) => [`A-${index}`, 'v'])

  it.each([
    ['8,192 bytes of target', check([host], false, `/${'a'.repeat(8191)}`), undefined],
    ['one byte or field more', check([host], false, `/${'a'.repeat(8192)}`), 414],
    ['200 fields', check([host, ...many(199)]), undefined],
    ['one byte or field more', check([host, ...many(200)]), 431],
    ['64 KiB of fields', check([host, ['A', 'a'.repeat(65_536 - 20 - 5)]]), undefined],
    ['one byte more', check([host, ['A', 'a'.repeat(65_536 - 20 - 4)]]), 431],
  ])('%s', (_, result, status) => {
    expect('status' in result ? result.status : undefined).toBe(status)
  })
})
