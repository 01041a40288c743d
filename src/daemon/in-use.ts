/** Counts what is going on, for whoever has to wait until nothing is. */
export class InUse {
  #count = 0
  #waiting: (() => void)[] = []

  /** What comes back is called once, at the end. */
  begin(): () => void {
    this.#count += 1
    return () => {
      this.#count -= 1
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Resolves when nothing is going on. */
  over(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }
}
