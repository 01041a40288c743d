import { PageIndex } from './page-index.ts'

/**
 * Remembers that changes by other processes were looked for in this callback of the event loop or the promises that follow it, and that this
 * thread has committed nothing since.
 */
export class LastPoll {
  #commits = -1
  #isOfThisCallback = false
  readonly #onEnd = () => void (this.#isOfThisCallback = false)

  get isCurrent(): boolean {
    return this.#isOfThisCallback && this.#isLatest
  }

  /** A poll begins. What was read before it may have changed. */
  begin({ reads }: PageIndex): void {
    if (!this.#isOfThisCallback) process.nextTick(this.#onEnd)
    this.#isOfThisCallback = true
    this.#commits = PageIndex.commits
    reads.forget()
  }

  /** Lets the last poll stand for one in this callback. */
  trust(index: PageIndex): void {
    if (!this.#isOfThisCallback && this.#isLatest) this.begin(index)
  }

  get #isLatest(): boolean {
    return this.#commits === PageIndex.commits
  }
}
