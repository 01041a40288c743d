import { compact } from '../lib/buffers.ts'
import { SteadyMap } from '../lib/steady-map.ts'
import type { Page } from './page.ts'
import type { Fence, Rejection } from './page-store.ts'
import { toText } from './prepared-page.ts'

/** Most pages per transaction of the writer thread: five milliseconds, since other processes wait for it. */
export const batchPages = 128
/** Bytes of bodies and texts per transaction. */
const batchBytes = 1024 ** 2
/** Bytes of body and text. A larger page has a batch to itself, and is not copied until the writer gets it. */
const mostCopied = batchBytes / 2
/** Batches whose memory is kept for further ones, or as many as wait: usually one is written while another one fills. */
const leastKept = 2
/** Bytes of a waiting page in V8's heap (headers and tags, lookup tables), as measured. */
const pageOverhead = 2_048

/** A page that waits to be stored. Its negative id becomes the id of its row. */
export interface Waiting {
  readonly page: Page
  readonly fence: Fence
  /** The last removal that is known not to select it. */
  checked: Fence
  readonly batch: Batch
  /** Where its body begins in the memory of the batch. */
  readonly start: number
  /** The one before it under the same key. */
  older: Waiting | null
}

/** The pages of a transaction. The ids that they have while they wait are consecutive. */
export class Batch {
  readonly pages: Waiting[] = []
  /** The size of each body and of the text after it (`toText`), in bytes. None for a large page. */
  readonly sizes: number[] = []
  /** Resolves to the stored pages, or why each was not stored. */
  readonly over = Promise.withResolvers<readonly (Page | Rejection)[]>()
  /** How often it was given to the writer thread. Then it takes no further page. */
  attempts = 0
  /** What its pages take, in bytes. */
  bytes = 0
  readonly memory: Buffer
  #used = 0

  /** @param memory of both threads, which is used again; or one large body */
  constructor(memory: Buffer) {
    this.memory = memory
  }

  get isShared(): boolean {
    return this.memory.buffer instanceof SharedArrayBuffer
  }

  takes(size: number): boolean {
    const hasRoom = this.pages.length < batchPages && size <= this.memory.length - this.#used
    return hasRoom && this.isShared && this.attempts === 0
  }

  /** Copies a body and the page's text. Returns where the body begins. */
  copy(body: Buffer, text: string): number {
    const start = this.#used
    this.memory.set(body, start)
    const written = this.memory.write(text, start + body.length)
    this.#used += body.length + written
    this.sizes.push(body.length, written)
    return start
  }
}

/** A copy where the memory is used again. */
export function bodyOf({ batch, start, page }: Waiting): Buffer {
  if (!batch.isShared) return batch.memory
  const body = Buffer.allocUnsafeSlow(page.size)
  batch.memory.copy(body, 0, start, start + page.size)
  return body
}

/** Resolves to the stored page, or why it was not stored. */
export async function outcomeOf(waiting: Waiting): Promise<Page | Rejection> {
  const { pages, over } = waiting.batch
  return (await over.promise)[pages.indexOf(waiting)]!
}

/** The pages that wait to be stored. What one consists of becomes old in V8's heap while it waits, so that is little. */
export class Batches {
  /** The oldest first. */
  readonly #batches: Batch[] = []
  readonly #newest = new SteadyMap<string, Waiting>()
  readonly #free: Buffer[] = []
  #last = 0
  #size = 0
  #bytes = 0

  /** Number of waiting pages. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  get oldest(): Batch | null {
    return this.#batches[0] ?? null
  }

  /** @param checked the last removal that is known not to select the page */
  add(draft: Omit<Page, 'id'>, body: Buffer, fence: Fence, checked: Fence): Waiting {
    const text = toText(draft, fence)
    const size = body.length + Buffer.byteLength(text)
    const batch = this.#for(body, size)
    const start = batch.isShared ? batch.copy(body, text) : 0
    const page = { ...draft, id: -(this.#last += 1) }
    const waiting: Waiting = { page, fence, checked, batch, start, older: this.#newest.get(page.key) ?? null }
    batch.pages.push(waiting)
    this.#newest.set(page.key, waiting)
    this.#size += 1
    batch.bytes += size + pageOverhead
    this.#bytes += size + pageOverhead
    return waiting
  }

  /** @param size bytes of the body and the text of a page */
  #for(body: Buffer, size: number): Batch {
    const last = this.#batches.at(-1)
    const isLarge = size > mostCopied
    if (!isLarge && last?.takes(size) === true) return last
    const shared = () => this.#free.pop() ?? Buffer.from(new SharedArrayBuffer(batchBytes))
    const batch = new Batch(isLarge ? compact(body) : shared())
    this.#batches.push(batch)
    return batch
  }

  /** By the id that it has while it waits. */
  get(id: number): Waiting | null {
    if (id >= 0) return null
    for (const { pages } of this.#batches) {
      const found = pages[pages[0]!.page.id - id]
      if (found?.page.id === id) return found
    }
    return null
  }

  has(key: string): boolean {
    return this.#newest.has(key)
  }

  /** Those under a primary key, newest first. */
  under(key: string): Waiting[] {
    const found: Waiting[] = []
    for (let waiting = this.#newest.get(key) ?? null; waiting !== null; waiting = waiting.older) found.push(waiting)
    return found
  }

  *[Symbol.iterator](): Generator<Waiting> {
    for (const { pages } of this.#batches) yield* pages
  }

  /** Ends the oldest batch. */
  shift(outcomes: readonly (Page | Rejection)[]): void {
    const batch = this.#batches.shift()!
    for (const waiting of batch.pages) this.#forget(waiting)
    this.#size -= batch.pages.length
    this.#bytes -= batch.bytes
    if (batch.isShared) this.#free.push(batch.memory)
    this.#free.splice(Math.max(leastKept, this.#batches.length))
    batch.over.resolve(outcomes)
  }

  #forget(waiting: Waiting): void {
    const { key } = waiting.page
    let newer = this.#newest.get(key)!
    if (newer === waiting) return void this.#newest.delete(key)
    while (newer.older !== waiting) newer = newer.older!
    newer.older = null
  }
}
