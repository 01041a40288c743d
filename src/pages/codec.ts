import { pipeline, Readable } from 'node:stream'
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

type Coding = Exclude<Encoding, 'identity'>

const options = { chunkSize: 64 * 1024 }

const decoders = {
  br: () => zlib.createBrotliDecompress(options),
  gzip: () => zlib.createGunzip(options),
  zstd: () => zlib.createZstdDecompress(options),
}

const encoders = {
  br: () => zlib.createBrotliCompress({ ...options, params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: () => zlib.createGzip({ ...options, level: 6 }),
  zstd: () => zlib.createZstdCompress(options),
}

/** A body decodes to more than it may. */
export class TooLarge extends Error {}

/**
 * Decodes a body.
 *
 * @param limit bytes that it may grow to
 * @param admit told of each further piece of the result, in bytes; false ends the work
 * @throws TooLarge when it may not grow any more, or zlib's error when it is broken
 */
export async function decode(
  body: Buffer,
  encoding: Encoding,
  limit: number,
  admit: (bytes: number) => boolean = () => true,
): Promise<Buffer> {
  if (encoding === 'identity') return body
  const decoder = decoders[encoding]()
  decoder.end(body)
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of decoder as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > limit || !admit(piece.length)) throw new TooLarge()
    pieces.push(piece)
  }
  // For a moment it is there twice.
  if (!admit(size)) throw new TooLarge()
  return Buffer.concat(pieces)
}

/** Streams a coded body in another coding. Failures come out of the iteration. */
export function transcoded(source: AsyncIterable<Buffer>, from: Coding, to: Encoding): AsyncIterable<Buffer> {
  const decoder = decoders[from]()
  const input = Readable.from(source, { objectMode: false })
  if (to === 'identity') return pipeline(input, decoder, () => {})
  return pipeline(input, decoder, encoders[to](), () => {})
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

const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|manifest\+json|x-javascript|rss\+xml|atom\+xml|ld\+json|graphql|vnd\.ms-fontobject)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/(?:ttf|otf)|[^;]+\+(?:json|xml))/i

/** Below this a coding saves less than its header costs. */
const smallestWorthIt = 860

export function isCompressible(contentType: string | null, size: number): boolean {
  return size >= smallestWorthIt && contentType !== null && compressible.test(contentType)
}
