/** Milliseconds that a group waits for further purges at most. */
const longest = 10
/** The same, as a share of the time that the last group took: a slow disk is worth a longer wait. */
const shareOfGroup = 1 / 2
/** Clients that have sent no purge for this long are not waited for, in milliseconds. */
export const quiet = 50
/** A group of this size waits for no further purges: more would hardly make it cheaper. */
const large = 256

/**
 * Decides how long a group of purges waits for more. Clients that wait for each answer send their next purge a moment after a group was
 * answered. Without a wait they fall into halves that take turns, each half with a transaction of its own.
 */
export class Arrivals {
  /** Clients of the last group. */
  #clients = 0
  #answeredAt = -Infinity
  /** How long a group waits for them, in milliseconds. */
  #patience = 0
  /** The number of waiting purges that ends the wait. */
  #expected = Infinity
  #proceed = () => {}
  #isOver = false

  /**
   * Notes that a group was answered.
   *
   * @param clients purges of that group, and those that wait now
   * @param ms how long it took
   */
  answered(clients: number, ms: number): void {
    this.#clients = Math.min(clients, large)
    this.#answeredAt = performance.now()
    this.#patience = Math.min(longest, ms * shareOfGroup)
  }

  /** Notes how many purges wait now. */
  arrived(waiting: number): void {
    if (waiting >= this.#expected) this.#proceed()
  }

  /** Resolves when as many purges wait as there were clients, or when it is no longer worth waiting for them. */
  async gathered(waiting: number): Promise<void> {
    if (performance.now() - this.#answeredAt > quiet || waiting >= this.#clients) return
    await this.#wait(this.#clients, this.#patience)
  }

  /** Resolves when a purge arrives, or after a quiet time. */
  async next(): Promise<void> {
    await this.#wait(1, quiet)
  }

  async #wait(expected: number, ms: number): Promise<void> {
    if (this.#isOver) return
    this.#expected = expected
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#proceed = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#expected = Infinity
  }

  /** Ends the wait, and every later one. */
  end(): void {
    this.#isOver = true
    this.#proceed()
  }
}
