import { Readable } from 'node:stream'

export type Collected = { kind: 'whole'; body: Buffer } | { kind: 'overflow'; stream: Readable }

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
 * to be passed on.
 *
 * @throws what the stream fails with, when it breaks off
 */
export async function collect(stream: Readable, limit: number, budget: Budget): Promise<Collected> {
  let taken = 0
  const fits = (bytes: number) => {
    taken += bytes
    return budget.take(bytes) && taken <= limit
  }
  try {
    return await readWhile(stream, fits)
  } finally {
    budget.giveBack(taken)
  }
}

async function readWhile(stream: Readable, fits: (bytes: number) => boolean): Promise<Collected> {
  const chunks: Buffer[] = []
  const iterator = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  for (;;) {
    const { value, done } = await iterator.next()
    if (done === true) return { kind: 'whole', body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }
    chunks.push(value)
    if (!fits(value.length)) return { kind: 'overflow', stream: resumed(chunks, iterator, stream) }
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
