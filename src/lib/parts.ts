/** Closes an opened part. */
type Closer = () => Promise<void> | void

/** Parts of a program that are opened when first needed and closed in reverse order. */
export class Parts {
  readonly #closers: Closer[] = []
  readonly #opened = new Map<string, Promise<unknown>>()

  has(name: string): boolean {
    return this.#opened.has(name)
  }

  /** Opens a part, unless it is open. Its `close` runs when all parts are closed. */
  open<T extends object>(name: string, open: () => Promise<T>): Promise<T> {
    const opened = this.#opened.get(name)
    if (opened) return opened as Promise<T>
    const opening = open().then((part) => {
      this.onClose(() => (part as { close?(): Promise<void> | void }).close?.())
      return part
    })
    this.#opened.set(name, opening)
    // Opening is retried at the next use.
    opening.catch(() => this.#opened.delete(name))
    return opening
  }

  /** Registers a closer to run with `close`; the last one registered runs first. */
  onClose(closer: Closer): void {
    this.#closers.push(closer)
  }

  /** Closes everything in reverse order of opening. Runs all closers, then throws the first error. */
  async close(): Promise<void> {
    const errors: unknown[] = []
    for (;;) {
      // A part registers its closer once it is open. Closers and timers may open further ones.
      await Promise.allSettled(this.#opened.values())
      const closer = this.#closers.pop()
      if (closer === undefined) break
      try {
        await closer()
      } catch (error) {
        errors.push(error)
      }
    }
    this.#opened.clear()
    if (errors.length > 0) throw errors[0]
  }
}
