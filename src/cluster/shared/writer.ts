import type { Clock } from '../../lib/clock.ts'
import type { SharedPageCounts } from './counts.ts'
import { fieldOf, nameOf } from './names.ts'
import { writeField } from './scripts.ts'
import type { Server } from './server.ts'
import { encode, type SharedPage, type SharedValue } from './value.ts'

export interface WriterOptions {
  now: Clock
  /** The longest that a page is kept, in milliseconds. */
  maxAge: number
  /** The most variants of one URL. */
  maxVariants: number
}

/** How many bytes of pages are being written at a time: reads wait behind them. */
const mostBytes = 8 * 1024 ** 2

/** Writes pages after the visitors of this turn are answered. */
export class Writer {
  readonly #server: Server
  readonly #options: WriterOptions
  readonly #counts: SharedPageCounts
  readonly #pending = new Set<Promise<unknown>>()
  #bytes = 0

  constructor(server: Server, options: WriterOptions, counts: SharedPageCounts) {
    this.#server = server
    this.#options = options
    this.#counts = counts
  }

  /** Writes a page, unless too many are being written. */
  add(page: SharedPage): void {
    const { draft, body } = page
    const { now, maxAge } = this.#options
    const lifetime = Math.ceil(Math.min(maxAge, draft.staleAt - now()))
    if (draft.range !== null || draft.noCache || lifetime < 1) return
    if (this.#bytes + body.length > mostBytes) return void (this.#counts.unwritten += 1)
    this.#bytes += body.length
    this.later(async () => {
      try {
        await this.#write(page, lifetime)
      } catch {
        this.#counts.unwritten += 1
      } finally {
        this.#bytes -= body.length
      }
    })
  }

  async #write(page: SharedPage, lifetime: number): Promise<void> {
    const { draft } = page
    const name = nameOf(draft)
    const whole = this.#set(draft.url, name, { kind: 'page', ...page }, lifetime)
    // Too large.
    if (whole === null) return
    const isVaried = name !== draft.key
    const names = isVaried
      ? this.#set(draft.url, draft.key, { kind: 'vary', names: Object.keys(draft.vary) }, lifetime)
      : null
    await Promise.all([whole, names])
    this.#counts.written += 1
  }

  /** Null for a value that is too large. @throws Unavailable */
  #set(url: string, name: string, value: SharedValue, lifetime: number): Promise<unknown> | null {
    const { secret, pages } = this.#server.names('write')
    const encoded = encode(value, name, secret)
    if (encoded === null) return null
    // A page with variants has a field with their names besides.
    const mostFields = this.#options.maxVariants * 2
    return this.#server.script(writeField, pages(url), fieldOf(name), encoded, String(lifetime), String(mostFields))
  }

  /** Work after the answers of this turn, in the order of the calls: a lock is released after its page is written. */
  later(work: () => Promise<unknown>): void {
    const done = new Promise<void>((resolve) => setImmediate(resolve)).then(work).catch(() => {})
    this.#pending.add(done)
    void done.finally(() => this.#pending.delete(done))
  }

  /** Resolves when everything that was added is written, or could not be. */
  async finish(): Promise<void> {
    await Promise.all(this.#pending)
  }
}
