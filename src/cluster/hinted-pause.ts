/** A pause that a hint ends early. A hint between two pauses ends the next one, so no hint is lost while work is in progress. */
export class HintedPause {
  #isHinted = false
  #end: (() => void) | null = null

  hint(): void {
    this.#isHinted = true
    this.#end?.()
  }

  /** Resolves after this many milliseconds, or with the next hint. */
  async wait(ms: number): Promise<void> {
    if (!this.#isHinted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#end = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#isHinted = false
    this.#end = null
  }
}
