import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'

/** How long an answer counts, in milliseconds. */
const maxAge = 1000
/** How long the database may take for its answer, in milliseconds. */
const maxWait = 2000

/** Whether the records can be used. Checked at most once a second. */
export class Usability {
  readonly #check: () => Promise<unknown>
  #asked = -Infinity
  #answer: Promise<PagecacheError | null> = Promise.resolve(null)

  /** @param check opens and checks the records */
  constructor(check: () => Promise<unknown>) {
    this.#check = check
  }

  /** Why they cannot be used; null if they can. */
  problem(): Promise<PagecacheError | null> {
    if (performance.now() - this.#asked >= maxAge) {
      this.#asked = performance.now()
      this.#answer = this.#ask()
    }
    return this.#answer
  }

  async #ask(): Promise<PagecacheError | null> {
    const done = new AbortController()
    const tooLong = sleep(maxWait, silent, { signal: done.signal, ref: false }).catch(() => null)
    const checked = this.#check().then(
      () => null,
      (error: unknown) =>
        error instanceof PagecacheError ? error : new PagecacheError('STORE_UNREACHABLE', String(error)),
    )
    return Promise.race([checked, tooLong]).finally(() => done.abort())
  }
}

const silent = new PagecacheError('STORE_UNREACHABLE', `PostgreSQL does not answer within ${maxWait / 1000} s`)
