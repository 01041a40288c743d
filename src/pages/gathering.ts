/** How long tasks gather for which someone waits, in milliseconds. */
const awaitedFor = 8

/** Lets tasks gather for a moment before they are carried out together. */
export class Gathering {
  /** When the pause, or the next one, ends, in terms of `performance.now`. */
  #until = Infinity
  #timer: NodeJS.Timeout | undefined
  #end: (() => void) | null = null
  /** How much announced work is not over, and how many callers wait. */
  #announced = 0
  #waiting = 0

  /** Ends the pause, or omits the next one. */
  hurry(): void {
    this.#within(0)
  }

  /** Announces work that will wait for a task of its own; resolves to its result. */
  async announce<Result>(work: Promise<Result>): Promise<Result> {
    this.#announced += 1
    try {
      return await work
    } finally {
      this.#announced -= 1
    }
  }

  /** Waits for a task, which gathers until all that were announced wait too, but only for a moment. */
  async awaited<Result>(task: Promise<Result>): Promise<Result> {
    this.#waiting += 1
    this.#within(this.#waiting < this.#announced ? awaitedFor : 0)
    try {
      return await task
    } finally {
      this.#waiting -= 1
    }
  }

  /** @param longest in milliseconds */
  async pause(longest: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#end = resolve
      this.#until = Math.min(this.#until, performance.now() + longest)
      this.#schedule()
    })
    clearTimeout(this.#timer)
    this.#end = null
    this.#until = Infinity
  }

  #within(longest: number): void {
    const until = performance.now() + longest
    if (until >= this.#until) return
    this.#until = until
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const rest = this.#until - performance.now()
    if (rest <= 0) this.#end?.()
    else if (this.#end !== null) this.#timer = setTimeout(this.#end, rest)
  }
}
