import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { DiscoveryLimits } from './limits.ts'
import { SitemapError } from './sitemap-error.ts'

type ByteLimits = Pick<DiscoveryLimits, 'fileBytes' | 'ratio' | 'ratioFrom'>

/**
 * The bytes of a sitemap, decompressed if they start with the gzip magic number. Headers and file names are ignored: Shopware sends
 * `.xml.gz` without `Content-Encoding`, other shops with it, and some servers compress a `.gz` twice. Memory use is constant, and
 * decompression stops at the limits.
 *
 * @throws SitemapError
 */
export async function* plainBytes(source: AsyncIterable<Buffer>, limits: ByteLimits): AsyncGenerator<Buffer> {
  const once = gunzip(source, limits)
  for await (const chunk of gunzip(once, limits)) yield chunk
}

async function* gunzip(source: AsyncIterable<Buffer>, limits: ByteLimits): AsyncGenerator<Buffer> {
  const input = source[Symbol.asyncIterator]()
  const head = await readHead(input)
  const compressed = head[0] === 0x1f && head[1] === 0x8b
  let [received, produced] = [0, 0]
  async function* whole(): AsyncGenerator<Buffer> {
    try {
      received += head.length
      yield head
      for (let next = await input.next(); !next.done; next = await input.next()) {
        received += next.value.length
        yield next.value
      }
    } finally {
      await input.return?.()
    }
  }
  for await (const chunk of compressed ? inflate(whole()) : whole()) {
    produced += chunk.length
    if (produced > limits.fileBytes)
      throw new SitemapError(`is larger than ${limits.fileBytes} bytes`, { hostile: true })
    if (compressed && produced > limits.ratioFrom && produced > received * limits.ratio) {
      throw new SitemapError(`decompresses to more than ${limits.ratio} times its size`, { hostile: true })
    }
    yield chunk
  }
}

function inflate(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // Errors surface when the result is iterated.
  return pipeline(Readable.from(bytes, { objectMode: false }), createGunzip({ chunkSize: 64 * 1024 }), () => {})
}

/** Reads until the first two bytes are known: they decide, and may arrive in separate chunks. */
async function readHead(input: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < 2) {
    const next = await input.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return head
}
