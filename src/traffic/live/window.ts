import type { Seen } from '../traffic.ts'

/** Requests that one window shows. More than a person can read; it bounds what a watcher costs at any rate. */
const mostShown = 50

/** Collects the requests between two messages to a watcher: all of them, or a uniform sample (reservoir sampling) in bounded memory. */
export class Window {
  #seen: Seen[] = []
  #count = 0
  readonly #random: () => number

  /** @param random 0 (inclusive) to 1 (exclusive) */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  add(seen: Seen): void {
    this.#count += 1
    if (this.#seen.length < mostShown) return void this.#seen.push(seen)
    const slot = Math.floor(this.#random() * this.#count)
    if (slot < mostShown) this.#seen[slot] = seen
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Returns the requests in the order in which they ended, and how many were left out, and begins anew. */
  take(): { requests: Seen[]; notShown: number } {
    const requests = this.#seen.toSorted((one, other) => one.at - other.at)
    const notShown = this.#count - requests.length
    this.#seen = []
    this.#count = 0
    return { requests, notShown }
  }
}
