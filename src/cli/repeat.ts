import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { hourLength } from '../lib/moment.ts'
import { parseTypedDuration } from '../lib/quantity.ts'
import { printable } from '../lib/safe-text.ts'
import { interruptible } from './interrupt.ts'
import { Output } from './output.ts'

/** What repeated work needs of its command. */
interface Repeated<T> {
  /** Performs the work once and prints its value on `output`; with `--json`, only returns the value. */
  show(output: Output): Promise<T>
  json: boolean
  tell(message: string): void
}

/** Bounds of `--interval`, in milliseconds. */
const [shortest, longest] = [100, hourLength]

/**
 * Shows a value again and again until interrupted: redrawn on a terminal, one below the other in a pipe, one per line with `--json`. Only
 * a failure of the first time ends it.
 *
 * @throws USAGE for a wrong interval, INTERRUPTED
 */
export async function repeat<T>(given: string, { show, json, tell }: Repeated<T>): Promise<never> {
  const interval = parseTypedDuration(given)
  if (interval === undefined || interval < shortest || interval > longest)
    throw new PagecacheError('USAGE', `--interval: expected a duration such as 2s, not ${JSON.stringify(given)}`)
  return interruptible(async (signal) => {
    for (let first = true; ; first = false) {
      const frame = new Frame(interval)
      try {
        const value = await show(frame.output)
        if (json) process.stdout.write(`${JSON.stringify(value)}\n`)
        else frame.draw(first)
      } catch (error) {
        if (first || signal.aborted || !(error instanceof PagecacheError)) throw error
        tell(`No response, retrying: ${printable(error.message)}`)
      }
      await sleep(interval, undefined, { signal }).catch(() => {})
      if (signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
    }
  })
}

/** Collects what one showing prints, so that a terminal is redrawn at once. */
class Frame {
  readonly output: Output
  readonly #interval: number
  #text = ''

  constructor(interval: number) {
    this.#interval = interval
    const { isTTY, columns } = process.stdout
    this.output = new Output({ isTTY, columns, write: (text) => (this.#text += text) })
  }

  draw(first: boolean): void {
    const { stdout } = process
    if (!stdout.isTTY) return void stdout.write(first ? this.#text : `\n${this.#text}`)
    const title = `Every ${this.#interval / 1000} s; ${new Date().toISOString().slice(11, 19)} UTC. Ctrl-C ends.`
    const lines = [title, '', ...this.#text.trimEnd().split('\n')].slice(0, Math.max(1, (stdout.rows || Infinity) - 1))
    // Home, each line up to its end, and everything below: without clearing first, nothing flickers.
    stdout.write(`${first ? '\u001b[2J' : ''}\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`)
  }
}
