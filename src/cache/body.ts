import { Readable } from 'node:stream'
import { pieceSize } from '../pages/piece-digests.ts'

export type Collected =
  | { kind: 'whole'; body: Buffer }
  | { kind: 'overflow'; over: 'limit' | 'budget'; stream: Readable }

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

/** What one fetch holds of a budget. */
export class Share {
  readonly #budget: Budget
  #bytes = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  take(bytes: number): boolean {
    this.#bytes += bytes
    return this.#budget.take(bytes)
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes
    this.#budget.giveBack(bytes)
  }

  release(): void {
    this.giveBack(this.#bytes)
  }
}

/**
 * Reads a body into memory, which stays on the fetch's share of the budget. One that grows over `limit` bytes, or over what the budget has
 * left, comes back as a stream of all of it, to be passed on; what of it is in memory stays on the budget until a reader, however slow, has
 * taken it.
 *
 * @throws what the stream fails with, when it breaks off
 */
export async function collect(stream: Readable, limit: number, share: Share): Promise<Collected> {
  const chunks: Buffer[] = []
  let size = 0
  const iterator = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  try {
    for (;;) {
      const { value, done } = await iterator.next()
      if (done === true) break
      chunks.push(value)
      size += value.length
      const fits = share.take(value.length)
      if (fits && size <= limit) continue
      return {
        kind: 'overflow',
        over: size > limit ? 'limit' : 'budget',
        stream: resumed(chunks, iterator, stream, share),
      }
    }
  } catch (error) {
    share.release()
    throw error
  }
  return { kind: 'whole', body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }
}

function resumed(chunks: Buffer[], iterator: AsyncIterator<Buffer>, source: Readable, share: Share): Readable {
  async function* all() {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      share.giveBack(chunk.length)
      yield chunk
    }
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  const stream = Readable.from(all(), { objectMode: false, highWaterMark: 64 * 1024 })
  // On closing and not in the generator: one that never began has no end either.
  stream.once('close', () => {
    chunks.splice(0)
    share.release()
    source.destroy()
  })
  return stream
}

/** A body that was collected and is passed on all the same, in pieces; it stays on the budget until it is with its reader. */
export function passing(body: Buffer, share: Share): Readable {
  function* pieces() {
    for (let at = 0; at < body.length; at += pieceSize) yield body.subarray(at, at + pieceSize)
  }
  const stream = Readable.from(pieces(), { objectMode: false, highWaterMark: pieceSize })
  stream.once('close', () => share.release())
  return stream
}

/** Lets a response end whose body nobody wants, so that its connection can be used again or is closed. */
export function discard(stream: Readable): void {
  stream.on('error', () => {})
  stream.destroy()
}
