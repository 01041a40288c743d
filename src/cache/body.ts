import { Readable } from 'node:stream'
import { pieceSize } from '../pages/piece-digests.ts'

export type Collected =
  | { kind: 'whole'; body: Buffer }
  | { kind: 'overflow'; over: 'limit' | 'budget'; stream: Readable }

/** A limit in bytes on all bodies that are read at the same time. */
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

/** The part of a budget that one fetch holds. */
export class BudgetShare {
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
 * Reads a body into memory and charges it to the fetch's share of the budget. A body that exceeds `limit` bytes or the
 * budget comes back as a stream of the whole body; the part in memory stays charged until its reader has taken it.
 *
 * @throws the stream's error when the body breaks off
 */
export async function collect(stream: Readable, limit: number, share: BudgetShare): Promise<Collected> {
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

/** A stream of chunks in memory and of those that an iterator still yields, which charges only those in memory to the budget. */
export function resumed(
  chunks: Buffer[],
  iterator: AsyncIterator<Buffer>,
  source: Readable,
  share: BudgetShare,
): Readable {
  async function* all() {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      share.giveBack(chunk.length)
      yield chunk
    }
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  }
  const stream = Readable.from(all(), { objectMode: false, highWaterMark: 64 * 1024 })
  // On close rather than in the generator: a generator that never started never runs its `finally`.
  stream.once('close', () => {
    chunks.splice(0)
    share.release()
    source.destroy()
  })
  return stream
}

/** Streams a collected body in pieces; it stays charged to the budget until it is sent. */
export function passing(body: Buffer, share: BudgetShare): Readable {
  function* pieces() {
    for (let at = 0; at < body.length; at += pieceSize) yield body.subarray(at, at + pieceSize)
  }
  const stream = Readable.from(pieces(), { objectMode: false, highWaterMark: pieceSize })
  stream.once('close', () => share.release())
  return stream
}

/** Destroys a response body that is not read, which closes its connection. */
export function discard(stream: Readable): void {
  stream.on('error', () => {})
  stream.destroy()
}
