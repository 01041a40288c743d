import { SteadyMap } from '../lib/steady-map.ts'
import type { Page } from './page.ts'
import type { Fence, Rejection } from './page-store.ts'

/** Most pages per transaction of the writer thread: five milliseconds, since other processes wait for it. */
export const batchPages = 128
/** Bytes of bodies per transaction. A larger page has one to itself. */
const batchBytes = 1024 ** 2
/** Memory that is kept for further batches: usually one is written while another one fills. */
const mostKept = 2
/** Bytes of a waiting page besides its body (texts, lookup tables), as measured. */
const pageOverhead = 2_048

/** A page that waits to be stored. Its negative id becomes the id of its row. */
export interface Waiting {
  readonly page: Page
  readonly fence: Fence
  /** The last removal that is known not to select it. */
  checked: Fence
  readonly batch: Batch
  /** Where its body begins in those of the batch. */
  readonly start: number
  /** The one before it under the same key. */
  older: Waiting | null
  /** Null while it waits. */
  outcome: Page | Rejection | null
}

/** Pages that are stored in one transaction. */
export class Batch {
  readonly pages: Waiting[] = []
  /** One after the other, in memory that the writer thread reads too. */
  readonly bodies: Buffer<SharedArrayBuffer>
  /** Resolves when its pages wait no longer. */
  readonly over = Promise.withResolvers<void>()
  /** How often it was given to the writer thread. Then it takes no further page. */
  attempts = 0
  #used = 0

  constructor(memory: SharedArrayBuffer) {
    this.bodies = Buffer.from(memory)
  }

  takes(size: number): boolean {
    const hasRoom = this.pages.length < batchPages && size <= this.bodies.length - this.#used
    return hasRoom && this.attempts === 0
  }

  /** Copies a body. Returns where it begins. */
  copy(body: Buffer): number {
    const start = this.#used
    this.bodies.set(body, start)
    this.#used += body.length
    return start
  }
}

/** A copy, because the memory of a batch is used again. */
export function bodyOf({ batch, start, page }: Waiting): Buffer {
  const body = Buffer.allocUnsafeSlow(page.size)
  batch.bodies.copy(body, 0, start, start + page.size)
  return body
}

export async function outcomeOf(waiting: Waiting): Promise<Page | Rejection> {
  await waiting.batch.over.promise
  return waiting.outcome!
}

/** The pages that wait to be stored, in batches. They wait for tens of milliseconds: V8 copies all that they consist of, so that is little. */
export class Batches {
  /** The oldest first. */
  readonly #batches: Batch[] = []
  readonly #newest = new SteadyMap<string, Waiting>()
  readonly #free: SharedArrayBuffer[] = []
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
    const page = { ...draft, id: -(this.#last += 1) }
    const batch = this.#for(body.length)
    const older = this.#newest.get(page.key) ?? null
    const waiting: Waiting = { page, fence, checked, batch, start: batch.copy(body), older, outcome: null }
    batch.pages.push(waiting)
    this.#newest.set(page.key, waiting)
    this.#size += 1
    this.#bytes += body.length + pageOverhead
    return waiting
  }

  #for(size: number): Batch {
    const last = this.#batches.at(-1)
    if (last?.takes(size) === true) return last
    const kept = size > batchBytes ? undefined : this.#free.pop()
    const batch = new Batch(kept ?? new SharedArrayBuffer(Math.max(size, batchBytes)))
    this.#batches.push(batch)
    return batch
  }

  /** By the id that it has while it waits. */
  get(id: number): Waiting | null {
    if (id >= 0) return null
    for (const { pages } of this.#batches) {
      const found = pages[pages[0]!.page.id - id]
      if (found !== undefined) return found
    }
    return null
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

  /** Removes the oldest batch, whose outcomes are known. */
  shift(): void {
    const batch = this.#batches.shift()!
    for (const waiting of batch.pages) {
      this.#forget(waiting)
      this.#size -= 1
      this.#bytes -= waiting.page.size + pageOverhead
    }
    const memory = batch.bodies.buffer
    if (memory.byteLength === batchBytes && this.#free.length < mostKept) this.#free.push(memory)
    batch.over.resolve()
  }

  #forget(waiting: Waiting): void {
    const { key } = waiting.page
    let newer = this.#newest.get(key)!
    if (newer === waiting) return void this.#newest.delete(key)
    while (newer.older !== waiting) newer = newer.older!
    newer.older = null
  }
}
