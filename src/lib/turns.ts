/** Milliseconds of a turn in which steps are begun, however short everything else was: a turn of its own for each would cost a tenth more. */
const least = { quiet: 1, busy: 0.25 }

/**
 * Spreads steps of work over the turns of the event loop, so that requests that cost less need not wait for all of them. In
 * each turn the steps get half of the time that everything else has taken, or `least` where that is more, and at least one step is run.
 */
export class Turns {
  readonly #isQuiet: () => boolean
  readonly #waiting: (() => void)[] = []
  #isScheduled = false
  #ended = 0

  /** @param isQuiet whether no such requests have come lately */
  constructor(isQuiet: () => boolean) {
    this.#isQuiet = isQuiet
  }

  /** Whether steps wait for their turn. */
  get isBusy(): boolean {
    return this.#isScheduled
  }

  /** Resolves when the caller may run its next step. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#ended = performance.now()
      setImmediate(this.#run)
    })
  }

  readonly #run = () => {
    const started = performance.now()
    const atLeast = this.#isQuiet() ? least.quiet : least.busy
    this.#step(started + Math.max(atLeast, (started - this.#ended) / 2))
  }

  #step(until: number): void {
    this.#waiting.shift()?.()
    // A tick that is added by a microtask runs after all microtasks, thus after the step.
    queueMicrotask(() => process.nextTick(() => this.#proceed(until)))
  }

  #proceed(until: number): void {
    const now = performance.now()
    if (this.#waiting.length > 0 && now < until) return this.#step(until)
    this.#ended = now
    if (this.#waiting.length > 0) setImmediate(this.#run)
    else this.#isScheduled = false
  }
}
