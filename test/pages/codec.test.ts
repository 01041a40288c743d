import { describe, expect, it } from 'vitest'
import { decode, encode, isCompressible, toEncoding } from '../../src/pages/codec.ts'
import type { Encoding } from '../../src/pages/page.ts'

const text = Buffer.from('a page of a shop, '.repeat(200))
const coded: Encoding[] = ['gzip', 'br', 'zstd']

describe('codings', () => {
  it.each(coded)('%s compresses and decodes to the original', async (coding) => {
    const body = await encode(text, coding)
    expect(body.length).toBeLessThan(text.length / 4)
    expect(await decode(body, coding, text.length)).toEqual(text)
  })

  it('identity returns the body unchanged', async () => {
    expect(await encode(text, 'identity')).toBe(text)
    expect(await decode(text, 'identity', 1)).toBe(text)
  })

  it.each(coded)('%s above the limit is rejected', async (coding) => {
    const body = await encode(Buffer.alloc(1 << 20), coding)
    await expect(decode(body, coding, 1 << 16)).rejects.toThrow()
  })

  it.each(coded)('broken %s is rejected', async (coding) => {
    const body = await encode(text, coding)
    await expect(decode(Buffer.from('no such thing'), coding, 1 << 20)).rejects.toThrow()
    await expect(decode(body.subarray(0, body.length >> 1), coding, 1 << 20)).rejects.toThrow()
  })
})

it.each([
  [null, 'identity'],
  ['', 'identity'],
  ['identity', 'identity'],
  ['GZip', 'gzip'],
  ['x-gzip', 'gzip'],
  [' br ', 'br'],
  ['zstd', 'zstd'],
  ['deflate', null],
  ['gzip, br', null],
  ['compress', null],
])('Content-Encoding %j is the coding %j', (field, encoding) => {
  expect(toEncoding(field)).toBe(encoding)
})

it.each([
  ['text/html; charset=utf-8', true],
  ['TEXT/CSS', true],
  ['application/json', true],
  ['application/ld+json', true],
  ['application/vnd.api+json', true],
  ['image/svg+xml', true],
  ['text/event-stream', false],
  ['image/jpeg', false],
  ['image/webp', false],
  ['video/mp4', false],
  ['font/woff2', false],
  ['application/zip', false],
  ['application/octet-stream', false],
  [null, false],
])('%j is compressible: %s', (type, worth) => {
  expect(isCompressible(type, 10_000)).toBe(worth)
  expect(isCompressible(type, 500)).toBe(false)
})
