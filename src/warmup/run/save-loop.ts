import type { Timing } from '../../lib/timing.ts'

/** Milliseconds between two saves, which is also how soon a pause from another process is noticed. */
const saveEvery = 250

/** Calls `save` about four times a second, immediately on request, and never concurrently. */
export class SaveLoop {
  readonly #timing: Timing
  readonly #save: () => Promise<void>
  readonly #ended = new AbortController()
  #requested = new AbortController()
  #next = Promise.withResolvers<void>()

  constructor(timing: Timing, save: () => Promise<void>) {
    this.#timing = timing
    this.#save = save
  }

  /** Requests a save. Resolves when a save that began after this call has ended, successfully or not. */
  soon(): Promise<void> {
    if (this.#ended.signal.aborted) return Promise.resolve()
    this.#requested.abort()
    return this.#next.promise
  }

  end(): void {
    this.#ended.abort()
  }

  /** Runs until `end` is called. @throws what `save` threw */
  async run(): Promise<void> {
    try {
      while (!this.#ended.signal.aborted) {
        await this.#timing.sleep(saveEvery, AbortSignal.any([this.#requested.signal, this.#ended.signal]))
        if (this.#ended.signal.aborted) break
        const over = this.#next
        this.#requested = new AbortController()
        this.#next = Promise.withResolvers()
        await this.#save().finally(() => over.resolve())
      }
    } finally {
      this.#ended.abort()
      this.#next.resolve()
    }
  }
}
