/** Counts the active requests, so that a caller can wait until there are none. */
export class ActiveRequests {
  #count = 0
  #waiting: (() => void)[] = []

  /** Marks the start of a request. Returns a function to call once, at its end. */
  begin(): () => void {
    this.#count += 1
    return () => {
      this.#count -= 1
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Resolves when no request is active. */
  finished(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }
}
