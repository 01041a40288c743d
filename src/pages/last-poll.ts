import { currentTurn } from '../lib/once-per-turn.ts'
import { PageIndex } from './page-index.ts'

/**
 * Remembers that changes by other processes were looked for in this callback of the event loop or the promises that follow it, or in this
 * turn of it, and that this thread has committed nothing since.
 */
export class LastPoll {
  #commits = -1
  #turn = -1
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

  /** The poll has failed, so it stands for no other. */
  fail(): void {
    this.#commits = -1
  }

  /** The poll of this callback may stand for others in this turn. */
  offer(): void {
    this.#turn = currentTurn()
  }

  /** Lets the poll that was offered in this turn stand for one in this callback. */
  trust(index: PageIndex | null): void {
    if (index !== null && !this.#isOfThisCallback && this.#isLatest && this.#turn === currentTurn()) this.begin(index)
  }

  get #isLatest(): boolean {
    return this.#commits === PageIndex.commits
  }
}
