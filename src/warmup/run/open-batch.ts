import type { Message } from '../../queue/queue.ts'
import type { BatchChange } from './save-progress.ts'
import { UrlBits } from './url-bits.ts'
import type { UrlOutcome } from './warm.ts'

/** One URL of a batch. */
export interface BatchTask {
  batch: OpenBatch
  index: number
  url: string
}

export interface StoredBatch {
  number: number
  urls: readonly string[]
  taken: string
  done: string
}

/** A batch whose message this worker holds, with its unsaved progress. */
export class OpenBatch {
  readonly message: Message
  readonly number: number
  readonly #urls: readonly string[]
  readonly #taken: UrlBits
  readonly #done: UrlBits
  #cursor = 0
  #lost = false
  #dirty = false
  #outcomes = new Map<number, UrlOutcome>()

  constructor(message: Message, stored: StoredBatch) {
    this.message = message
    this.number = stored.number
    this.#urls = stored.urls
    this.#taken = new UrlBits(stored.urls.length, stored.taken)
    this.#done = new UrlBits(stored.urls.length, stored.done)
  }

  /** Whether there is unsaved progress. */
  get dirty(): boolean {
    return this.#dirty
  }

  get complete(): boolean {
    return this.#done.complete
  }

  /** The next unfinished URL; null at the end of the batch. */
  take(): BatchTask | null {
    while (this.#cursor < this.#urls.length && this.#done.has(this.#cursor)) this.#cursor++
    if (this.#lost || this.#cursor >= this.#urls.length) return null
    const index = this.#cursor++
    this.#taken.add(index)
    this.#dirty = true
    return { batch: this, index, url: this.#urls[index]! }
  }

  finish(index: number, outcome: UrlOutcome): void {
    this.#done.add(index)
    this.#outcomes.set(index, outcome)
    this.#dirty = true
  }

  /** Another worker holds the batch now: it yields no more URLs. */
  markLost(): void {
    this.#lost = true
  }

  /** Hands over the unsaved progress; `restore` takes it back if saving fails. */
  change(): { change: BatchChange; restore(): void } {
    const outcomes = this.#outcomes
    this.#outcomes = new Map()
    this.#dirty = false
    const change = {
      message: this.message,
      number: this.number,
      urls: this.#urls,
      taken: this.#taken.toString(),
      outcomes,
    }
    return { change, restore: () => this.#restore(outcomes) }
  }

  #restore(outcomes: ReadonlyMap<number, UrlOutcome>): void {
    this.#outcomes = new Map([...outcomes, ...this.#outcomes])
    this.#dirty = true
  }
}
