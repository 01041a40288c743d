/** Lets tasks gather for a moment before they are carried out together, unless someone waits for one of them. */
export class Gathering {
  #isUrgent = false
  #end = () => {}

  /** Ends the pause, or omits the next one. */
  hurry(): void {
    this.#isUrgent = true
    this.#end()
  }

  /** @param longest in milliseconds */
  async pause(longest: number): Promise<void> {
    if (!this.#isUrgent) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, longest)
        this.#end = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#isUrgent = false
    this.#end = () => {}
  }
}
