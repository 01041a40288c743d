import { Readable } from 'node:stream'

export type Collected = { kind: 'whole'; body: Buffer } | { kind: 'overflow'; over: 'limit' | 'budget'; stream: Readable }

/** Bytes that all bodies may take together while they are read. */
export class Budget {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  take(bytes: number): boolean {
    this.#left -= bytes
    return this.#left >= 0
  }

  giveBack(bytes: number): void {
    this.#left += bytes
  }
}

/**
 * Reads a body into memory. One that grows over `limit` bytes, or over what the budget has left, comes back as a stream of all of it,
 * to be passed on; what of it is in memory stays on the budget until a reader, however slow, has taken it.
 *
 * @throws what the stream fails with, when it breaks off
 */
export async function collect(stream: Readable, limit: number, budget: Budget): Promise<Collected> {
  const chunks: Buffer[] = []
  let size = 0
  const iterator = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  try {
    for (;;) {
      const { value, done } = await iterator.next()
      if (done === true) break
      chunks.push(value)
      size += value.length
      const fits = budget.take(value.length)
      if (fits && size <= limit) continue
      return { kind: 'overflow', over: size > limit ? 'limit' : 'budget', stream: resumed(chunks, iterator, stream, budget) }
    }
  } catch (error) {
    budget.giveBack(size)
    throw error
  }
  budget.giveBack(size)
  return { kind: 'whole', body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }
}

function resumed(chunks: Buffer[], iterator: AsyncIterator<Buffer>, source: Readable, budget: Budget): Readable {
  async function* all() {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      budget.giveBack(chunk.length)
      yield chunk
    }
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  const stream = Readable.from(all(), { objectMode: false, highWaterMark: 64 * 1024 })
  // On closing and not in the generator: one that never began has no end either.
  stream.once('close', () => {
    for (const chunk of chunks.splice(0)) budget.giveBack(chunk.length)
    source.destroy()
  })
  return stream
}

/** Lets a response end whose body nobody wants, so that its connection can be used again or is closed. */
export function discard(stream: Readable): void {
  stream.on('error', () => {})
  stream.destroy()
}
