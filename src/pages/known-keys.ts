import { HashSet } from '../lib/hash-set.ts'
import { isStorageError } from './faults.ts'
import type { IndexedKey } from './page-reads.ts'

/** Keys that are read at once, which takes about a quarter of a millisecond, and the pause after that in milliseconds. */
const slice = 1_024
const rest = 5
/** The pause after a slice that took long, as a multiple of that: the disk may be slow. */
const slowRest = 10
/** The least time between the beginnings of two fills, in milliseconds: another process may store more pages at once than can be listed. */
const betweenFills = 10_000
/** With fewer keys, those of removed pages do not matter. */
const fewKeys = 65_536
/** The keys are counted again when there are this many times as many. */
const countAgain = 1.25
/** The most keys per live page; with more, the keys are read anew. */
const mostPerPage = 2

/** Where the keys begin. */
const beforeAll: IndexedKey = { url: '', hash: -1 }

/** The part of an index that tells its keys. */
interface KeySource {
  /** The next keys after another, in order. */
  keysAfter(after: IndexedKey, most: number): IndexedKey[]
  count(selection: { kind: 'all' }): number
  /** Forgets the last look-up. */
  forget(): void
}

/**
 * Hashes of the keys under which an index may hold pages: a look-up of another key needs no query. They are read from the index in the
 * background, and the keys of new pages are added. Until all are known, every key may be there.
 */
export class KnownKeys {
  readonly #betweenFills: number
  #reads: KeySource | null = null
  /** Null until all keys are known. */
  #all: HashSet | null = null
  /** What is being filled, and the last key that was read into it. */
  #next: HashSet | null = null
  #read = beforeAll
  #begunAt = -Infinity
  #countAt = fewKeys
  #timer: NodeJS.Timeout | undefined

  constructor(pause = betweenFills) {
    this.#betweenFills = pause
  }

  /** How many keys are known, including those of pages that no longer exist; 0 until all are. */
  get size(): number {
    return this.#all?.size ?? 0
  }

  /** Whether all keys are known. */
  get isComplete(): boolean {
    return this.#all !== null
  }

  /** False if the index surely holds no page under the key with this hash. */
  mayHold(hash: number): boolean {
    return this.#all === null || this.#all.mayHave(hash)
  }

  /** Begins with another index. */
  restart(reads: KeySource): void {
    this.stop()
    this.#reads = reads
    this.#begunAt = -Infinity
    this.#fillLater()
  }

  /** Reads all keys again, because some may be missing. */
  forget(): void {
    this.#all = null
    this.#fillLater()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#reads = this.#all = this.#next = null
  }

  add(hash: number): void {
    this.#next?.add(hash)
    this.#all?.add(hash)
    this.#reads?.forget()
    if (this.size <= this.#countAt || this.#next !== null) return
    this.#countAt = this.size * countAgain
    this.#later(rest, (reads) => this.#count(reads))
  }

  /** The keys of removed pages must not accumulate. */
  #count(reads: KeySource): void {
    if (reads.count({ kind: 'all' }) * mostPerPage < this.size) this.#fillLater()
  }

  #fillLater(): void {
    this.#next = new HashSet()
    this.#read = beforeAll
    this.#later(Math.max(rest, this.#begunAt + this.#betweenFills - performance.now()), (reads) => {
      this.#begunAt = performance.now()
      this.#fill(reads)
    })
  }

  /** Replaces the timer, so that there is at most one fill. */
  #later(delay: number, work: (reads: KeySource) => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#attempt(work), delay).unref()
  }

  #attempt(work: (reads: KeySource) => void): void {
    try {
      if (this.#reads !== null) work(this.#reads)
    } catch (error) {
      if (!isStorageError(error)) throw error
      this.#fillLater()
    }
  }

  #fill(reads: KeySource): void {
    const started = performance.now()
    const filling = this.#next!
    const keys = reads.keysAfter(this.#read, slice)
    for (const { hash } of keys) filling.add(hash)
    if (keys.length === slice) {
      this.#read = keys.at(-1)!
      return this.#later(Math.max(rest, (performance.now() - started) * slowRest), (again) => this.#fill(again))
    }
    this.#all = filling
    this.#next = null
    this.#countAt = Math.max(fewKeys, filling.size * countAgain)
  }
}
