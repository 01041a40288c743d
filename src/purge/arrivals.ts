/** Milliseconds that a group waits for further purges at most. */
const longest = 10
/** The same, as a share of the time that the last group took: a slow disk is worth a longer wait. */
const shareOfGroup = 1 / 4
/** A group of this size waits for no further purges: more would hardly make it cheaper. */
const large = 256

/**
 * Decides how long a group of purges waits for more. Clients that wait for each answer send their next purge a moment after a group was
 * answered. Without a wait they fall into halves that take turns, each half with a transaction of its own.
 */
export class Arrivals {
  #expected = 0
  #until = -Infinity
  #proceed = () => {}

  /**
   * Notes that a group was answered.
   *
   * @param clients purges of that group, and those that wait now
   * @param ms how long it took
   */
  answered(clients: number, ms: number): void {
    this.#expected = Math.min(clients, large)
    this.#until = performance.now() + Math.min(longest, ms * shareOfGroup)
  }

  /** Notes how many purges wait now. */
  arrived(waiting: number): void {
    if (waiting >= this.#expected) this.#proceed()
  }

  /** Resolves when as many purges wait as there were clients, or when it is no longer worth waiting for them. */
  async gathered(waiting: number): Promise<void> {
    const rest = this.#until - performance.now()
    if (rest <= 0 || waiting >= this.#expected) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, rest)
      this.#proceed = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#proceed = () => {}
  }
}
