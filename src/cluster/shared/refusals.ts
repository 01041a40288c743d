/** Commands that Redis may accept and refuse independently of each other. `info`: those of operators. */
export type Use = 'read' | 'write' | 'info'

/** Errors of Redis that say something about the server or its user, and not about one command. */
const general =
  /\b(?:OOM|READONLY|NOPERM|NOAUTH|WRONGPASS|LOADING|MASTERDOWN|MISCONF|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|BUSY)\b/

/** The first and the longest pause, in milliseconds. */
const firstPause = 1_000
const longestPause = 30_000

/** Reads or writes that the server refuses: after each refusal none is sent for a while. */
export class Refusals {
  #reason: string | null = null
  #until = 0
  #pause = firstPause
  readonly #onChange: (reason: string | null) => void

  /** @param onChange called with the reason when refusals begin, and with null when they end */
  constructor(onChange: (reason: string | null) => void) {
    this.#onChange = onChange
  }

  /** Why the last command was refused; null if it was not. */
  get reason(): string | null {
    return this.#reason
  }

  get isPaused(): boolean {
    return performance.now() < this.#until
  }

  accepted(): void {
    this.#pause = firstPause
    if (this.#reason === null) return
    this.#reason = null
    this.#onChange(null)
  }

  refused(message: string): void {
    const code = general.exec(message)?.[0]
    // Answers to commands that were sent at the same time are one refusal.
    if (code === undefined || this.isPaused) return
    this.#until = performance.now() + this.#pause
    this.#pause = Math.min(longestPause, this.#pause * 2)
    const isNews = this.#reason === null
    this.#reason = message.slice(message.indexOf(code)).slice(0, 200)
    if (isNews) this.#onChange(this.#reason)
  }
}
