import { printable } from '../lib/safe-text.ts'
import { Output } from './output.ts'

/** Messages kept while the terminal UI is drawn; older ones are dropped. */
const maxHeld = 20

/** Prints lines on stderr: stdout carries the value alone. */
export class Messages {
  quiet = false
  debugging = false
  #held: string[] | null = null
  readonly #once = new Set<string>()

  tell(message: string): void {
    if (this.quiet) return
    if (this.#held) this.#held.push(message)
    else process.stderr.write(`${new Output(process.stderr).wrap(message).join('\n')}\n`)
  }

  /** Prints a message once, even if several operations of a command report it. */
  tellOnce(message: string): void {
    if (this.#isNew(message)) this.tell(message)
  }

  /** With `--debug`, prints once where a command runs. */
  debugOnce(message: string): void {
    if (this.#isNew(message)) this.debug(message)
  }

  #isNew(message: string): boolean {
    const before = this.#once.size
    return this.#once.add(message).size > before
  }

  /** Prints a line with `--debug` only. */
  debug(message: string): void {
    if (this.debugging) process.stderr.write(`debug: ${printable(message)}\n`)
  }

  /** Holds messages back while `work` draws on the terminal, and prints the latest of them afterwards. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#held = []
    try {
      return await work()
    } finally {
      const lines = [...new Set(this.#held)].slice(-maxHeld)
      this.#held = null
      for (const line of lines) this.tell(line)
    }
  }
}

export function hasWarning(value: unknown): value is { warning: string } {
  return typeof value === 'object' && value !== null && 'warning' in value && typeof value.warning === 'string'
}
