import { describe, expect, it } from 'vitest'
import { FieldNames, withoutFields } from '../../src/cache/fields.ts'

describe('FieldNames', () => {
  const long = `x-${'a'.repeat(44)}`
  const names = new FieldNames(['etag', 'content-length', long])

  it.each<[string, boolean]>([
    ['etag', true],
    ['ETag', true],
    ['Content-Length', true],
    [long.toUpperCase(), true],
    ['vary', false],
    ['cache-control', false],
    // Of the same length as the long name, or longer by 32, as by the bits of lengths.
    [`x-${'b'.repeat(44)}`, false],
    [long.slice(32), false],
    [`${long}${'a'.repeat(32)}`, false],
    ['', false],
  ])('cover %s: %s', (name, covered) => {
    expect(names.cover(name)).toBe(covered)
  })

  it('cover names that are added later, and are a set', () => {
    const more = new FieldNames(names)
    expect(more.add('Vary'.toLowerCase()).cover('VARY')).toBe(true)
    expect([...more]).toEqual(['etag', 'content-length', long, 'vary'])
    expect(names.cover('vary')).toBe(false)
  })

  it('say which fields are left out', () => {
    const headers = [['ETag', '"a"'] as const, ['Vary', '*'] as const, ['etag', '"b"'] as const]
    expect(withoutFields(headers, names)).toEqual([['Vary', '*']])
    expect(withoutFields(headers, new FieldNames([]))).toEqual(headers)
  })
})
