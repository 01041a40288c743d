import { PagecacheError } from '../errors.ts'

/** Time that work in progress gets to end after the limit, in milliseconds. */
const grace = 5000

/** Ends a command that takes longer than `--timeout`: first as Ctrl-C does, then at once. */
export class TimeLimit {
  readonly #limit: number
  readonly #timers: NodeJS.Timeout[]
  #passed = false

  /** Whether the command took longer than the limit. */
  get passed(): boolean {
    return this.#passed
  }

  /** @param limit in milliseconds */
  constructor(limit: number) {
    this.#limit = limit
    this.#timers = [
      setTimeout(() => {
        this.#passed = true
        // Without a listener nothing runs that could be interrupted.
        if (!process.emit('SIGINT')) this.#exit()
      }, limit).unref(),
      setTimeout(() => this.#exit(), limit + grace).unref(),
    ]
  }

  #exit(): never {
    process.stderr.write(`Error: ${this.#error().message}\nSee docs/troubleshooting.md#timed_out\n`)
    process.exit(this.#error().exit)
  }

  #error(): PagecacheError {
    return new PagecacheError('TIMED_OUT', `No result within ${this.#limit / 1000} s (--timeout).`)
  }

  /** The error in place of the one that the interruption caused. */
  translate(error: unknown): unknown {
    return this.#passed && error instanceof PagecacheError && error.code === 'INTERRUPTED' ? this.#error() : error
  }

  /** To be called when the command has ended. */
  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    if (this.#passed && process.exitCode === 130) process.exitCode = this.#error().exit
  }
}
