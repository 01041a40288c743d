import { LRUCache } from 'lru-cache'
import { FifoCache } from '../../src/pages/fifo-cache.ts'

/** A cache of sizes by page number, for simulations. */
export interface Policy {
  /** Whether the page is in the cache, which counts as a use. */
  has(page: number): boolean
  add(page: number, size: number): void
}

export const policies: Record<string, (capacity: number) => Policy> = {
  lru,
  pagecache: fifo,
  'w-tinylfu': (capacity) => new TinyLfu(capacity),
}

function lru(capacity: number): Policy {
  const cache = new LRUCache<number, number>({ maxSize: capacity, sizeCalculation: (size) => size })
  return { has: (page) => cache.get(page) !== undefined, add: (page, size) => void cache.set(page, size) }
}

/** The memory tier's own. */
function fifo(capacity: number): Policy {
  const cache = new FifoCache<number>({ capacity, sizeOf: (size) => size, onLeave: () => undefined })
  return { has: (page) => cache.get(String(page)) !== undefined, add: (page, size) => cache.set(String(page), size) }
}

/** Uses of a page are counted up to this number. */
const mostCounted = 15

/** W-TinyLFU: a window of 1 %, a segmented LRU whose protected part is 80 %, and a count-min sketch of four rows that ages. */
class TinyLfu implements Policy {
  readonly #window: Segment
  readonly #probation = new Segment(Infinity)
  readonly #guarded: Segment
  readonly #capacity: number
  readonly #rows: Uint8Array[]
  readonly #mask: number
  #counted = 0

  constructor(capacity: number) {
    this.#capacity = capacity * 0.99
    this.#window = new Segment(capacity * 0.01)
    this.#guarded = new Segment(this.#capacity * 0.8)
    // About eight counters for each page of 5 kB.
    const width = 2 ** Math.ceil(Math.log2((8 * capacity) / 5_000))
    this.#mask = width - 1
    this.#rows = Array.from({ length: 4 }, () => new Uint8Array(width))
  }

  has(page: number): boolean {
    this.#count(page)
    if (this.#window.touch(page) || this.#guarded.touch(page)) return true
    const size = this.#probation.take(page)
    if (size === undefined) return false
    this.#guarded.add(page, size)
    for (const [demoted, its] of this.#guarded.excess()) this.#probation.add(demoted, its)
    return true
  }

  add(page: number, size: number): void {
    this.#window.add(page, size)
    for (const [candidate, its] of this.#window.excess()) this.#admit(candidate, its)
  }

  #admit(candidate: number, size: number): void {
    while (this.#probation.size + this.#guarded.size + size > this.#capacity) {
      const victim = this.#probation.oldest() ?? this.#guarded.oldest()
      if (victim === undefined || this.#frequency(victim) >= this.#frequency(candidate)) return
      if (this.#probation.take(victim) === undefined) this.#guarded.take(victim)
    }
    this.#probation.add(candidate, size)
  }

  #count(page: number): void {
    for (const [row, counters] of this.#rows.entries()) {
      const place = this.#place(page, row)
      if (counters[place]! < mostCounted) counters[place]! += 1
    }
    if ((this.#counted += 1) < 10 * this.#mask) return
    this.#counted /= 2
    for (const counters of this.#rows) for (let n = 0; n < counters.length; n++) counters[n]! >>= 1
  }

  #frequency(page: number): number {
    return Math.min(...this.#rows.map((counters, row) => counters[this.#place(page, row)]!))
  }

  #place(page: number, row: number): number {
    const mixed = Math.imul(page + 1, [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f][row]!)
    return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) & this.#mask
  }
}

/** Pages in the order of their last use. */
class Segment {
  readonly #sizes = new Map<number, number>()
  readonly #most: number
  size = 0

  constructor(most: number) {
    this.#most = most
  }

  touch(page: number): boolean {
    const size = this.take(page)
    if (size === undefined) return false
    this.add(page, size)
    return true
  }

  add(page: number, size: number): void {
    this.#sizes.set(page, size)
    this.size += size
  }

  take(page: number): number | undefined {
    const size = this.#sizes.get(page)
    if (size === undefined) return undefined
    this.#sizes.delete(page)
    this.size -= size
    return size
  }

  oldest(): number | undefined {
    return this.#sizes.keys().next().value
  }

  /** Removes the oldest pages beyond the limit. */
  *excess(): Generator<[page: number, size: number]> {
    while (this.size > this.#most) {
      const page = this.oldest()!
      yield [page, this.take(page)!]
    }
  }
}
