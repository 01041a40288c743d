import { PageIndex } from './page-index.ts'

/** Remembers that changes by other processes were looked for in this callback of the event loop or the promises that follow it. */
export class LastPoll {
  /** The commits of this thread when it began; null: there was none in this callback. */
  #commits: number | null = null
  readonly #onEnd = () => void (this.#commits = null)

  /** Whether this thread has committed nothing since. */
  get isCurrent(): boolean {
    return this.#commits === PageIndex.commits
  }

  /** A poll begins: what was read before it may have changed. */
  begin({ reads }: PageIndex): void {
    if (this.#commits === null) process.nextTick(this.#onEnd)
    this.#commits = PageIndex.commits
    reads.forget()
  }

  /** Lets a poll of an earlier callback stand for one while `read` runs. */
  substitute<T>(index: PageIndex | null, read: () => T): T {
    if (this.#commits !== null) return read()
    this.#commits = PageIndex.commits
    index?.reads.forget()
    try {
      return read()
    } finally {
      this.#commits = null
    }
  }
}
