import { describe, expect, it } from 'vitest'
import { decode, encode, largestBody, type SharedValue } from '../../../src/cluster/shared/value.ts'
import type { PageDraft } from '../../../src/pages/page.ts'
import { random } from '../../helpers/random.ts'

const secret = Buffer.alloc(32, 1)
const name = 'c1 http://shop.example/'

const draft: PageDraft = {
  key: name,
  url: 'http://shop.example/',
  channelId: 'c1',
  type: 'products',
  tags: ['product-1', 'größe'],
  status: 200,
  headers: [
    ['Content-Type', 'text/html'],
    ['X-Empty', ''],
  ],
  vary: { 'accept-language': 'de', 'sw-currency-id': null },
  states: ['logged-in'],
  cachedAt: 1_768_478_400_000,
  initialAge: 0,
  lifetime: 60,
  staleWhileRevalidate: 0,
  staleIfError: 0,
  staleAllowed: true,
  noCache: false,
  staleAt: 1_768_478_460_000,
  deleteAt: Infinity,
  range: null,
  encoding: 'gzip',
  originalSize: 8,
  generationMs: 12.5,
}
const page: SharedValue & { kind: 'page' } = {
  kind: 'page',
  draft,
  body: Buffer.from('the body'),
  clock: { history: 7, number: 41 },
}
const encoded = encode(page, name, secret)!

describe('a shared value', () => {
  it('brings back a page, its body and its clock', () => {
    expect(decode(encoded, name, secret)).toEqual({
      ...page,
      draft: { ...draft, deleteAt: Number.MAX_SAFE_INTEGER },
    })
  })

  it('brings back the fragments of a template', () => {
    const template = { ...page, draft: { ...draft, fragments: ['http://shop.example/_esi/footer'] } }
    expect(decode(encode(template, name, secret)!, name, secret)).toMatchObject({
      draft: { fragments: template.draft.fragments },
    })
  })

  it('brings back the names of the fields that a page varies by', () => {
    const value: SharedValue = { kind: 'vary', names: ['accept-language'] }
    expect(decode(encode(value, name, secret)!, name, secret)).toEqual(value)
  })

  it('is nothing under another name', () => {
    expect(decode(encoded, `${name}x`, secret)).toBeNull()
    expect(decode(encoded, '', secret)).toBeNull()
  })

  it('is nothing to an installation with another secret', () => {
    expect(decode(encoded, name, Buffer.alloc(32, 2))).toBeNull()
  })

  it('is nothing in another version', () => {
    const other = Buffer.from(encoded)
    other.write('pcs2')
    expect(decode(other, name, secret)).toBeNull()
  })

  it('is nothing when any bit is flipped', () => {
    for (let bit = 0; bit < encoded.length * 8; bit++) {
      const altered = Buffer.from(encoded)
      altered[bit >> 3]! ^= 1 << (bit & 7)
      expect(decode(altered, name, secret)).toBeNull()
    }
  })

  it('is nothing when it is cut or has more bytes', () => {
    for (let length = 0; length < encoded.length; length++)
      expect(decode(encoded.subarray(0, length), name, secret)).toBeNull()
    expect(decode(Buffer.concat([encoded, Buffer.from('x')]), name, secret)).toBeNull()
  })

  it('is nothing for lengths that lie', () => {
    for (const at of [4, 8])
      for (const length of [0, 1, 43, encoded.length + 1, 2 ** 31, 2 ** 32 - 1]) {
        const altered = Buffer.from(encoded)
        altered.writeUInt32BE(length, at)
        expect(decode(altered, name, secret)).toBeNull()
      }
  })

  it('is nothing for random bytes, with and without a valid beginning', () => {
    const next = random(1)
    for (let round = 0; round < 2_000; round++) {
      const bytes = Buffer.from(Array.from({ length: Math.floor(next() * 400) }, () => Math.floor(next() * 256)))
      const begun = Buffer.concat([encoded.subarray(0, Math.floor(next() * 60)), bytes])
      expect([decode(bytes, name, secret), decode(begun, name, secret)]).toEqual([null, null])
    }
  })

  it('is not made of a page that is too large', () => {
    expect(encode({ ...page, body: Buffer.alloc(largestBody + 1) }, name, secret)).toBeNull()
    expect(encode({ ...page, draft: { ...draft, tags: ['t'.repeat(300_000)] } }, name, secret)).toBeNull()
  })

  // A node with another version of pagecache has the secret too.
  it.each<[string, object]>([
    ['lacks a field', { status: undefined }],
    ['has a field of another type', { staleAt: 'soon' }],
    ['has an unknown field', { priority: 1 }],
    ['has an unknown coding', { encoding: 'lzma' }],
    ['has an unknown type', { type: 'blog' }],
    ['has an impossible status', { status: 99 }],
    ['is a part of a page', { range: { start: 0, end: 1, total: 9 } }],
    ['has a header that ends the line', { headers: [['X-A', 'b\r\nSet-Cookie: c=d']] }],
    ['has a header with a name that is none', { headers: [['X A:', 'b']] }],
    ['has a header without a value', { headers: [['X-A']] }],
    ['has a URL that is none', { url: '::' }],
    ['has a time that is no number', { cachedAt: null }],
    ['varies by something else than texts', { vary: { accept: 1 } }],
    ['has fragments that are no texts', { fragments: [1] }],
  ])('is nothing when the page %s', (_, change) => {
    const other = { ...page, draft: { ...draft, ...change } as PageDraft }
    // `toRecord` drops what it does not know.
    const text = encode(other, name, secret)!
    const known = 'priority' in change ? null : decode(text, name, secret)
    expect(known).toBeNull()
  })
})
