/** A path that visitors have missed, with why. */
export interface Miss {
  channelId: string
  /** With the host, without the query. */
  path: string
  reason: string
  requests: number
  originMs: number
}

/** Paths that are counted between two writes. One that has more than this share of the misses is always among them. */
const mostPaths = 2_000
/** Characters. Longer paths are cut. */
const longestPath = 256

interface Counted {
  miss: Miss
  /** Its requests, and those of the path that had the place before. They order the paths and are not reported. */
  count: number
}

/**
 * Counts misses by path and reason, in bounded memory: a Space-Saving sketch (Metwally, Agrawal and El Abbadi, 2005). A new path takes the place of
 * the least frequent one and inherits its count, so that a frequent path is found however many paths a crawler requests before it.
 */
export class MissWindow {
  readonly #misses = new Map<string, Counted>()
  /** The paths by their count. */
  readonly #byCount = new Map<number, Set<string>>()
  /** The lowest count. */
  #least = 1

  add(channelId: string, path: string, reason: string, originMs: number): void {
    const key = `${channelId} ${reason} ${path}`
    const known = this.#misses.get(key)
    if (known !== undefined) {
      known.miss.requests += 1
      known.miss.originMs += originMs
      this.#byCount.get(known.count)!.delete(key)
      this.#place(key, (known.count += 1))
      return
    }
    const count = this.#misses.size < mostPaths ? 1 : this.#removeLeast() + 1
    const miss = { channelId, path: path.slice(0, longestPath), reason, requests: 1, originMs }
    this.#misses.set(key, { miss, count })
    this.#place(key, count)
  }

  /** Returns the most frequent misses since the last call, each with the requests that were certainly its own, and forgets all. */
  take(most: number): Miss[] {
    const misses = Array.from(this.#misses.values(), ({ miss }) => miss)
    this.#misses.clear()
    this.#byCount.clear()
    this.#least = 1
    return misses.toSorted((one, other) => other.requests - one.requests).slice(0, most)
  }

  #place(key: string, count: number): void {
    const group = this.#byCount.get(count)
    if (group === undefined) this.#byCount.set(count, new Set([key]))
    else group.add(key)
  }

  /** Removes one of the least frequent paths and returns its count. */
  #removeLeast(): number {
    for (;;) {
      const group = this.#byCount.get(this.#least)
      const key = group?.values().next().value
      if (key !== undefined) {
        group!.delete(key)
        this.#misses.delete(key)
        return this.#least
      }
      this.#byCount.delete(this.#least)
      this.#least += 1
    }
  }
}
