import type { Timing } from '../../lib/timing.ts'

/** Progress is written this often, which is also how soon a pause from another process is noticed (milliseconds). */
const saveEvery = 250

/** Calls `save` about four times a second, at once when somebody waits for it, and never twice at a time. */
export class SaveLoop {
  readonly #timing: Timing
  readonly #save: () => Promise<void>
  readonly #ended = new AbortController()
  #asked = new AbortController()
  #next = Promise.withResolvers<void>()

  constructor(timing: Timing, save: () => Promise<void>) {
    this.#timing = timing
    this.#save = save
  }

  /** Resolves when a save that began after this call is over, well or not. */
  soon(): Promise<void> {
    if (this.#ended.signal.aborted) return Promise.resolve()
    this.#asked.abort()
    return this.#next.promise
  }

  end(): void {
    this.#ended.abort()
  }

  /** Until `end`. @throws what `save` threw */
  async run(): Promise<void> {
    try {
      while (!this.#ended.signal.aborted) {
        await this.#timing.sleep(saveEvery, AbortSignal.any([this.#asked.signal, this.#ended.signal]))
        if (this.#ended.signal.aborted) break
        const over = this.#next
        this.#asked = new AbortController()
        this.#next = Promise.withResolvers()
        await this.#save().finally(() => over.resolve())
      }
    } finally {
      this.#ended.abort()
      this.#next.resolve()
    }
  }
}
