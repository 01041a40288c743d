/** Rejects a wait that took too long. */
export class TooLate extends Error {}

/** A turn of the event loop while an answer is awaited, in milliseconds. */
const turn = 10
/** The limit as a multiple of the usual time. */
const slack = 8
/** How much the last answer counts in the usual time. */
const weight = 0.1

export interface Limits {
  /** In milliseconds. */
  least: number
  most: number
}

/**
 * How long answers of a server are awaited: a multiple of what they usually take, within limits. Counts turns of the event loop instead
 * of reading a clock, since a process that is busy itself reads its answers late.
 */
export class Patience {
  readonly #limits: Limits
  #usual = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Milliseconds. */
  get limit(): number {
    const { least, most } = this.#limits
    return Math.min(most, Math.max(least, this.#usual * slack))
  }

  /** Records how long an answer took, in milliseconds, even if its caller has given up. */
  note(ms: number): void {
    this.#usual += (ms - this.#usual) * weight
  }

  /** @throws TooLate, or what `answer` is rejected with */
  within<T>(answer: Promise<T>): Promise<T> {
    const { limit } = this
    return new Promise((resolve, reject) => {
      let left = Math.ceil(limit / turn)
      const count = () => {
        left -= 1
        if (left > 0) timer = setTimeout(count, turn)
        // Answers that have arrived are read before.
        else setImmediate(() => reject(new TooLate(`no answer within ${Math.round(limit)} ms`)))
      }
      let timer = setTimeout(count, turn)
      answer.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }
}
