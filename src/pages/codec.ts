import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { Encoding } from './page.ts'

const { constants } = zlib

/** Quality 5 is where brotli still costs a millisecond for a page and is already smaller than gzip's best. */
const compressors = {
  br: (body: Buffer) =>
    promisify(zlib.brotliCompress)(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body: Buffer) => promisify(zlib.gzip)(body, { level: 6 }),
  zstd: (body: Buffer) => promisify(zlib.zstdCompress)(body),
}

/** @throws when the body is broken or grows over `limit` bytes */
export async function decode(body: Buffer, encoding: Encoding, limit: number): Promise<Buffer> {
  const options = { maxOutputLength: limit }
  if (encoding === 'br') return promisify(zlib.brotliDecompress)(body, options)
  if (encoding === 'gzip') return promisify(zlib.gunzip)(body, options)
  if (encoding === 'zstd') return promisify(zlib.zstdDecompress)(body, options)
  return body
}

export async function encode(body: Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'identity' ? body : compressors[encoding](body)
}

/** What a Content-Encoding is to us; null for codings, and chains of them, that we pass on untouched. */
export function toEncoding(contentEncoding: string | null): Encoding | null {
  if (contentEncoding === null) return 'identity'
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === '' || coding === 'identity') return 'identity'
  if (coding === 'gzip' || coding === 'x-gzip') return 'gzip'
  return coding === 'br' || coding === 'zstd' ? coding : null
}

const compressible = /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|manifest\+json|x-javascript|rss\+xml|atom\+xml|ld\+json|graphql|vnd\.ms-fontobject)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/(?:ttf|otf)|[^;]+\+(?:json|xml))/i

/** Below this a coding saves less than its header costs. */
const smallestWorthIt = 860

export function isCompressible(contentType: string | null, size: number): boolean {
  return size >= smallestWorthIt && contentType !== null && compressible.test(contentType)
}
