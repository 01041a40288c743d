/**
 * URLs without duplicates in the order in which they are warmed: higher priority first, then the shorter
 * path, then as they came. Sorted by filling shelves, so that a million of them blocks nobody.
 */
export class UrlList {
  readonly #known = new Set<string>()
  readonly #shelves = new Map<number, string[]>()

  get size(): number {
    return this.#known.size
  }

  /** @param priority 0 to 1 @param depth segments of the path @returns false when it is there already */
  add(url: string, priority: number, depth: number): boolean {
    if (this.#known.size === this.#known.add(url).size) return false
    const place = Math.round((1 - priority) * 100) * 10_000 + Math.min(depth, 9999)
    const shelf = this.#shelves.get(place)
    if (shelf) shelf.push(url)
    else this.#shelves.set(place, [url])
    return true
  }

  *[Symbol.iterator](): Generator<string> {
    for (const place of [...this.#shelves.keys()].toSorted((a, b) => a - b)) yield* this.#shelves.get(place)!
  }
}
