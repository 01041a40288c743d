import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib, { brotliDecompressSync } from 'node:zlib'
import { cheapGzipLevel, KeptEngine } from './kept-engine.ts'
import type { Encoding } from './page.ts'
import { ZstdFrames } from './zstd-frames.ts'

/** Brotli quality 5 still takes about a millisecond per page and compresses better than gzip's best level. */
const compressors = {
  br: (body: Buffer) =>
    promisify(zlib.brotliCompress)(body, {
      params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length },
      // HTML becomes a quarter or less.
      ...inChunksOf(body.length / 4),
    }),
  gzip: (body: Buffer) => promisify(zlib.gzip)(body, { level: 6 }),
  zstd: (body: Buffer) => promisify(zlib.zstdCompress)(body),
}

type Coding = Exclude<Encoding, 'identity'>

/** Codings for a visitor who waits, the better one first. Both take about 50 microseconds for 20 kB. */
export const cheapEncodings = ['zstd', 'gzip'] as const
export type CheapEncoding = (typeof cheapEncodings)[number]

const cheapCompressors = {
  gzip: new KeptEngine('gzip'),
  zstd: new KeptEngine('zstd'),
}
const gunzip = new KeptEngine('gunzip')
/** Bytes that are decompressed at once: a third of a millisecond. */
const mostGunzipped = 128 * 1024
/** Up to this size in bytes a body is compressed at once: handing it to another thread costs as much as compressing it. */
const atOnce = 64 * 1024

/** Bytes. Node allocates a chunk of output at once, whether or not it is filled. */
const [smallestChunk, largestChunk] = [4 * 1024, 64 * 1024]

/** @param size the expected size of the output in bytes */
function inChunksOf(size: number): { chunkSize: number } {
  return { chunkSize: Math.min(largestChunk, Math.max(smallestChunk, Math.ceil(size))) }
}

const largeChunks = inChunksOf(largestChunk)

const decoders = {
  br: (chunks: typeof largeChunks) => zlib.createBrotliDecompress(chunks),
  gzip: (chunks: typeof largeChunks) => zlib.createGunzip(chunks),
  zstd: (chunks: typeof largeChunks) => zlib.createZstdDecompress(chunks),
}

const encoders = {
  br: () => zlib.createBrotliCompress({ ...largeChunks, params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: () => zlib.createGzip({ ...largeChunks, level: 6 }),
  zstd: () => zlib.createZstdCompress(largeChunks),
}

/** A body decodes to more bytes than allowed. */
export class TooLarge extends Error {}

/**
 * Decodes a body.
 *
 * @param limit maximum size of the result in bytes
 * @param admit called with the size of each further piece; false stops decoding
 * @throws TooLarge when the limit or `admit` stops it, or zlib's error for a broken body
 */
export async function decode(
  body: Buffer,
  encoding: Encoding,
  limit: number,
  admit: (bytes: number) => boolean = () => true,
): Promise<Buffer> {
  if (encoding === 'identity') return body
  const small = decodeAtOnce(body, encoding, limit)
  if (small !== null && !admit(small.length)) throw new TooLarge()
  if (small !== null) return small
  const decoder = decoders[encoding](inChunksOf(body.length * 4))
  for (const part of encoding === 'zstd' ? new ZstdFrames().split(body) : [body]) decoder.write(part)
  decoder.end()
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of decoder as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > limit || !admit(piece.length)) throw new TooLarge()
    pieces.push(piece)
  }
  if (encoding === 'br' && decoder.bytesWritten < body.length) throw new Error('The body goes on after its end')
  // The concatenation briefly holds the body twice.
  if (!admit(size)) throw new TooLarge()
  return Buffer.concat(pieces)
}

/**
 * Decodes a small body in gzip; null for any other, which takes longer or another thread.
 *
 * @param limit maximum size of the result in bytes
 * @throws zlib's error for a broken body
 */
export function decodeAtOnce(body: Buffer, encoding: Encoding, limit: number): Buffer | null {
  const most = Math.min(limit, mostGunzipped)
  if (encoding !== 'gzip' || body.length > atOnce || announcedSize(body) > most) return null
  try {
    return gunzip.run(body, most)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null
    throw error
  }
}

/** The decoded size that a body in gzip ends with (RFC 1952 §2.3.1), in bytes. It may be wrong, and is that of the last member only. */
function announcedSize(body: Buffer): number {
  return body.length < 4 ? 0 : body.readUInt32LE(body.length - 4)
}

/** Transcodes a body as a stream. Errors surface in the iteration. */
export function transcoded(source: AsyncIterable<Buffer>, from: Coding, to: Encoding): AsyncIterable<Buffer> {
  const decoder = decoders[from](largeChunks)
  const input = Readable.from(from === 'zstd' ? inFrames(source) : source, { objectMode: false })
  if (to === 'identity') return pipeline(input, decoder, () => {})
  return pipeline(input, decoder, encoders[to](), () => {})
}

async function* inFrames(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const frames = new ZstdFrames()
  for await (const piece of source) yield* frames.split(piece)
}

export async function encode(body: Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'identity' ? body : compressors[encoding](body)
}

/** Compresses a body with little effort: a tenth more bytes in a quarter of the time. */
export async function encodeCheaply(body: Buffer, encoding: CheapEncoding): Promise<Buffer> {
  const small = encodeAtOnce(body, encoding)
  if (small !== null) return small
  return encoding === 'gzip'
    ? promisify(zlib.gzip)(body, { level: cheapGzipLevel })
    : promisify(zlib.zstdCompress)(body)
}

/**
 * Compresses a small body with little effort; null for a large one.
 *
 * @param allocate gives the memory for the result
 */
export function encodeAtOnce(
  body: Buffer,
  encoding: CheapEncoding,
  allocate?: (size: number) => Buffer<ArrayBuffer>,
): Buffer | null {
  return body.length > atOnce ? null : cheapCompressors[encoding].run(body, undefined, allocate)
}

/** Frames of a body that is decoded at once: each takes as long as a small page. */
const mostFramesAtOnce = 16

const decodersAtOnce = {
  br: (body: Buffer, most: number) => brotliDecompressSync(body, { maxOutputLength: most }),
  gzip: (body: Buffer, most: number) => gunzip.run(body, most),
  zstd: decodeZstd,
}

function decodeZstd(body: Buffer, maxOutputLength: number): Buffer {
  const parts = new ZstdFrames().split(body)
  if (parts.length === 1) return zlib.zstdDecompressSync(body, { maxOutputLength })
  let left = maxOutputLength
  const pieces = parts.map((part) => {
    const piece = zlib.zstdDecompressSync(part, { maxOutputLength: Math.max(1, left) })
    if ((left -= piece.length) < 0) throw new TooLarge()
    return piece
  })
  return Buffer.concat(pieces)
}

/**
 * Transcodes a body for a visitor who waits: a small one at once and with little effort.
 *
 * @param size of the decoded body in bytes, which the result must not exceed
 */
export async function transcode(body: Buffer, from: Encoding, to: Encoding, size: number): Promise<Buffer> {
  const isManyFrames = from === 'zstd' && new ZstdFrames().split(body).length > mostFramesAtOnce
  if (size > atOnce || isManyFrames) return encode(await decode(body, from, size), to)
  const identity = from === 'identity' ? body : decodersAtOnce[from](body, Math.max(1, size))
  return to === 'gzip' || to === 'zstd' ? encodeCheaply(identity, to) : encode(identity, to)
}

/**
 * The coding of a Content-Encoding value; null for unsupported codings and combinations, which are passed on unchanged.
 */
export function toEncoding(contentEncoding: string | null): Encoding | null {
  if (contentEncoding === null) return 'identity'
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === '' || coding === 'identity') return 'identity'
  if (coding === 'gzip' || coding === 'x-gzip') return 'gzip'
  return coding === 'br' || coding === 'zstd' ? coding : null
}

const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|manifest\+json|x-javascript|rss\+xml|atom\+xml|ld\+json|graphql|vnd\.ms-fontobject)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/(?:ttf|otf)|[^;]+\+(?:json|xml))/i

/** The smallest size in bytes for which compression saves more than its header costs. */
const smallestWorthIt = 860

export function isCompressible(contentType: string | null, size: number): boolean {
  return size >= smallestWorthIt && contentType !== null && compressible.test(contentType)
}
