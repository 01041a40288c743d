/** How long a warning is delayed, in milliseconds: a command that reports the failure itself withdraws it within this time. */
const delay = 100

/** Warns once per failure, not for each affected request. */
export class FailureWarning {
  readonly #warn: (message: string) => void
  #last = ''
  #timer: NodeJS.Timeout | undefined

  constructor(warn: (message: string) => void) {
    this.#warn = warn
  }

  tell(message: string): void {
    if (message !== this.#last) this.#timer = setTimeout(() => this.#warn(message), delay)
    this.#last = message
  }

  /** The caller reports the failure itself. */
  withdraw(): void {
    clearTimeout(this.#timer)
  }

  /** The failure has passed: the next one is reported again, even if it is the same. */
  reset(): void {
    this.#last = ''
  }
}
