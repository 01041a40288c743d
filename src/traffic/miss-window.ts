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

/** A path among those that are counted. */
interface Place {
  /** The channel, the reason and the path, in lines. */
  key: string
  requests: number
  originMs: number
  /** Its requests, and those of the path that had the place before. They order the paths and are not reported. */
  count: number
}

/**
 * Counts misses by path and reason, in bounded memory: a Space-Saving sketch (Metwally, Agrawal and El Abbadi, 2005). A new path takes the place of
 * the least frequent one and inherits its count, so that a frequent path is found however many paths a crawler requests before it.
 */
export class MissWindow {
  readonly #byKey = new Map<string, Place>()
  #places: Place[] = []
  /** The lowest count, and from where on a place may have it. */
  #least = 1
  #next = 0

  add(channelId: string, path: string, reason: string, originMs: number): void {
    const key = `${channelId}\n${reason}\n${path.slice(0, longestPath)}`
    const known = this.#byKey.get(key)
    if (known !== undefined) {
      known.requests += 1
      known.originMs += originMs
      known.count += 1
      return
    }
    const place = this.#places.length < mostPaths ? this.#add() : this.#leastFrequent()
    this.#byKey.delete(place.key)
    // The path is a part of the request's head, all of which it would keep in memory.
    place.key = Buffer.from(key).toString()
    place.requests = 1
    place.originMs = originMs
    place.count += 1
    this.#byKey.set(place.key, place)
  }

  /** Returns the most frequent misses since the last call, each with the requests that were certainly its own, and forgets all. */
  take(most: number): Miss[] {
    const places = this.#places.toSorted((one, other) => other.requests - one.requests).slice(0, most)
    this.#places = []
    this.#byKey.clear()
    this.#least = 1
    this.#next = 0
    return places.map(toMiss)
  }

  #add(): Place {
    const place = { key: '', requests: 0, originMs: 0, count: 0 }
    this.#places.push(place)
    return place
  }

  /** Counts only rise, so places that were passed over need no second look before the lowest count rises. */
  #leastFrequent(): Place {
    for (;;) {
      while (this.#next < this.#places.length) {
        const place = this.#places[this.#next++]!
        if (place.count === this.#least) return place
      }
      this.#next = 0
      this.#least = this.#places.reduce((least, { count }) => Math.min(least, count), Infinity)
    }
  }
}

function toMiss({ key, requests, originMs }: Place): Miss {
  const [channelId = '', reason = '', ...path] = key.split('\n')
  return { channelId, path: path.join('\n'), reason, requests, originMs }
}
