import { SteadySet } from './steady-map.ts'

/** Work that is under way, so that what needs it is closed after it. */
export class UnderWay {
  readonly #work = new SteadySet<Promise<unknown>>()

  get size(): number {
    return this.#work.size
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    return work.finally(() => this.#work.delete(work))
  }

  /** Resolves when all that is under way now has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#work)
  }
}
