/** A path that visitors have missed, with why. */
export interface Miss {
  channelId: string
  /** With the host, without the query. */
  path: string
  reason: string
  requests: number
  originMs: number
}

/** Paths that are counted between two writes; a crawler's further ones are left out. */
const mostPaths = 2_000
/** Characters. Longer paths are cut. */
const longestPath = 256

/** Counts misses by path and reason, in bounded memory. */
export class MissWindow {
  #misses = new Map<string, Miss>()

  add(channelId: string, path: string, reason: string, originMs: number): void {
    const key = `${channelId} ${reason} ${path}`
    const known = this.#misses.get(key)
    if (known !== undefined) {
      known.requests += 1
      known.originMs += originMs
    } else if (this.#misses.size < mostPaths)
      this.#misses.set(key, { channelId, path: path.slice(0, longestPath), reason, requests: 1, originMs })
  }

  /** Returns the most frequent misses since the last call, and forgets all. */
  take(most: number): Miss[] {
    const misses = [...this.#misses.values()]
    this.#misses = new Map()
    return misses.toSorted((one, other) => other.requests - one.requests).slice(0, most)
  }
}
