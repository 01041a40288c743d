import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { UrlHashes } from './url-hashes.ts'

/**
 * URLs without duplicates, in warming order: higher priority first, then shorter paths, then insertion order. Sorting by buckets
 * keeps a million URLs from blocking the event loop. The URLs of one shop are alike, so they are kept compressed: a million take a
 * dozen megabytes plus their hashes.
 */
export class UrlList {
  #known = new UrlHashes()
  #size = 0
  readonly #buckets = new Map<number, Bucket>()

  get size(): number {
    return this.#size
  }

  /**
   * @param priority 0 to 1; below 0 sorts after all others
   * @param depth number of path segments
   * @returns false if the list contains the URL already
   */
  add(url: string, priority: number, depth: number): boolean {
    return this.addRanked(url, Math.round((1 - priority) * 100) * 10_000 + Math.min(depth, 9999))
  }

  /** Like `add`; lower ranks come first. */
  addRanked(url: string, rank: number): boolean {
    if (!this.#known.add(url)) return false
    this.#size++
    let bucket = this.#buckets.get(rank)
    if (!bucket) this.#buckets.set(rank, (bucket = new Bucket()))
    bucket.push(url)
    return true
  }

  /** Frees the hashes once all URLs have been added. */
  seal(): this {
    this.#known = new UrlHashes()
    return this
  }

  *[Symbol.iterator](): Generator<string> {
    for (const rank of [...this.#buckets.keys()].toSorted((a, b) => a - b)) yield* this.#buckets.get(rank)!
  }
}

/** URLs compressed together: about a millisecond of work. */
const chunkSize = 1000

/** Bytes of zlib's output buffer. Most chunks fit into one, which saves copying the pieces together. */
const inflatedSize = 96 * 1024

class Bucket {
  readonly #chunks: Buffer[] = []
  #open: string[] = []

  push(url: string): void {
    this.#open.push(url)
    if (this.#open.length < chunkSize) return
    // Copied because zlib returns a slice of a larger buffer. Compressing also frees the sitemap text that the URLs are slices of.
    const packed = deflateRawSync(this.#open.join('\n'), { level: 5 })
    this.#chunks.push(Buffer.concat([packed]))
    this.#open = []
  }

  *[Symbol.iterator](): Generator<string> {
    for (const chunk of this.#chunks) yield* inflateRawSync(chunk, { chunkSize: inflatedSize }).toString().split('\n')
    yield* this.#open
  }
}
