import type { UrlFailure } from './attempt.ts'
import { DoneSet } from './done-set.ts'
import type { ClaimedBatch } from './runs.ts'
import type { BatchChange } from './save-progress.ts'
import type { UrlOutcome } from './warm.ts'

/** One URL of a batch. */
export interface BatchTask {
  batch: OpenBatch
  index: number
  url: string
}

type Unsaved = Pick<BatchChange, 'processed' | 'skipped' | 'failed'> & { failures: (UrlFailure & { url: string })[] }

/** A batch that this worker has leased, with what was done in it and is not written yet. */
export class OpenBatch {
  readonly number: number
  /** When it was last written, in monotonic milliseconds. */
  savedAt: number
  #lost = false
  #dirty = false
  readonly #urls: readonly string[]
  readonly #done: DoneSet
  #cursor = 0
  #inHand = 0
  #unsaved: Unsaved = nothing()

  constructor(claimed: ClaimedBatch, now: number) {
    this.number = claimed.number
    this.savedAt = now
    this.#urls = claimed.urls
    this.#done = new DoneSet(claimed.urls.length, claimed.done)
  }

  get dirty(): boolean {
    return this.#dirty
  }

  get complete(): boolean {
    return this.#done.complete
  }

  /** The next URL that is not done; null at the end of the batch. */
  take(): BatchTask | null {
    while (this.#cursor < this.#urls.length && this.#done.has(this.#cursor)) this.#cursor++
    if (this.#lost || this.#cursor >= this.#urls.length) return null
    const index = this.#cursor++
    this.#inHand++
    this.#dirty = true
    return { batch: this, index, url: this.#urls[index]! }
  }

  finish(index: number, outcome: UrlOutcome): void {
    this.#inHand--
    this.#done.add(index)
    this.#dirty = true
    if (outcome.kind === 'processed') {
      this.#unsaved.processed++
      if (outcome.skipped) this.#unsaved.skipped++
    } else {
      this.#unsaved.failed++
      this.#unsaved.failures.push(...outcome.failures.map((failure) => ({ ...failure, url: this.#urls[index]! })))
    }
  }

  /** Another worker holds it now: nothing more is taken from it or written. */
  lose(): void {
    this.#lost = true
  }

  /** Hands over what is to be written; `restore` takes it back where it could not be. */
  change(release: boolean): { change: BatchChange; restore(): void } {
    const taken = this.#unsaved
    this.#unsaved = nothing()
    this.#dirty = false
    const change = { number: this.number, done: this.#done.toString(), complete: this.complete, inHand: this.#inHand, release, ...taken }
    return { change, restore: () => this.#restore(taken) }
  }

  #restore(taken: Unsaved): void {
    const { processed, skipped, failed, failures } = this.#unsaved
    this.#unsaved = {
      processed: taken.processed + processed,
      skipped: taken.skipped + skipped,
      failed: taken.failed + failed,
      failures: [...taken.failures, ...failures],
    }
    this.#dirty = true
  }
}

function nothing(): Unsaved {
  return { processed: 0, skipped: 0, failed: 0, failures: [] }
}
