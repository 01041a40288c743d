import { Readable } from 'node:stream'

export type Collected = { kind: 'whole'; body: Buffer } | { kind: 'overflow'; stream: Readable }

/**
 * Reads a body into memory. One that grows over `limit` bytes comes back as a stream of all of it, to be passed on.
 *
 * @throws what the stream fails with, when it breaks off
 */
export async function collect(stream: Readable, limit: number): Promise<Collected> {
  const chunks: Buffer[] = []
  let size = 0
  const iterator = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  for (;;) {
    const { value, done } = await iterator.next()
    if (done === true) return { kind: 'whole', body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size) }
    chunks.push(value)
    size += value.length
    if (size > limit) return { kind: 'overflow', stream: resumed(chunks, iterator, stream) }
  }
}

function resumed(chunks: Buffer[], iterator: AsyncIterator<Buffer>, source: Readable): Readable {
  async function* all() {
    try {
      yield* chunks
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      source.destroy()
    }
  }
  return Readable.from(all(), { objectMode: false })
}

/** Lets a response end whose body nobody wants, so that its connection can be used again or is closed. */
export function discard(stream: Readable): void {
  stream.on('error', () => {})
  stream.destroy()
}
