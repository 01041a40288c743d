import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { UrlHashes } from './url-hashes.ts'

/**
 * URLs without duplicates in the order in which they are warmed: higher priority first, then the shorter
 * path, then as they came. Sorted by filling shelves, so that a million of them blocks nobody; kept compressed, because
 * URLs of one shop are alike, so that a million of them take a dozen megabytes beside their hashes.
 */
export class UrlList {
  #known = new UrlHashes()
  #size = 0
  readonly #shelves = new Map<number, Shelf>()

  get size(): number {
    return this.#size
  }

  /** @param priority 0 to 1, below 0 after all others @param depth segments of the path @returns false when it is there already */
  add(url: string, priority: number, depth: number): boolean {
    if (!this.#known.add(url)) return false
    this.#size++
    const place = Math.round((1 - priority) * 100) * 10_000 + Math.min(depth, 9999)
    let shelf = this.#shelves.get(place)
    if (!shelf) this.#shelves.set(place, (shelf = new Shelf()))
    shelf.push(url)
    return true
  }

  /** All are in: what tells duplicates goes. */
  seal(): this {
    this.#known = new UrlHashes()
    return this
  }

  *[Symbol.iterator](): Generator<string> {
    for (const place of [...this.#shelves.keys()].toSorted((a, b) => a - b)) yield* this.#shelves.get(place)!
  }
}

/** Compressed together: about a millisecond's work each. */
const urlsInPortion = 1000

/** Most portions fit into it: several pieces would be garbage beside the whole. */
const inflatedSize = 96 * 1024

class Shelf {
  readonly #portions: Buffer[] = []
  #open: string[] = []

  push(url: string): void {
    this.#open.push(url)
    if (this.#open.length < urlsInPortion) return
    // Parts of the sitemap's text would otherwise be kept alive by the URLs that were cut out of it; and zlib gives a piece of a larger buffer.
    const packed = deflateRawSync(this.#open.join('\n'), { level: 5 })
    this.#portions.push(Buffer.concat([packed]))
    this.#open = []
  }

  *[Symbol.iterator](): Generator<string> {
    for (const portion of this.#portions)
      yield* inflateRawSync(portion, { chunkSize: inflatedSize }).toString().split('\n')
    yield* this.#open
  }
}
