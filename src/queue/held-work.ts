import { PagecacheError } from '../errors.ts'
import type { Timing } from '../lib/timing.ts'
import { isUnavailable } from '../records/errors.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { ConsumeEvent } from './consume-event.ts'
import type { Handler, Membership, Message, Work } from './queue.ts'

export interface HeldWorkOptions {
  membership: Membership
  handler: Handler
  message: Message
  stop: AbortSignal
  lost: AbortSignal
  timing: Timing
  /** 0 to 1. */
  random(): number
  /** Whether the worker may take one more message. */
  mayTake(): boolean
  onTaken(message: Message): void
  /** Called when the handler has returned: its slot is free, and only the result is still to be written. */
  onHandled(): void
  onEvent(event: ConsumeEvent): void
}

/** Pause before a result is written again to unavailable records (milliseconds). */
const writeRetryDelay = 250
/** Delay of a message whose handler found the records unavailable (milliseconds). */
const unavailableDelay = 1000
const defaultTries = 3

/** One call of a handler, with the messages that it holds. */
export class HeldWork implements Work {
  readonly message: Message
  readonly stop: AbortSignal
  readonly lost: AbortSignal
  readonly #options: HeldWorkOptions
  readonly #lost = new AbortController()
  readonly #held = new Map<string, Message>()
  /** Ids completed in a transaction of the handler, which may have been rolled back. */
  readonly #completed = new Set<string>()

  constructor(options: HeldWorkOptions) {
    this.#options = options
    this.message = options.message
    this.stop = options.stop
    this.lost = AbortSignal.any([options.lost, this.#lost.signal])
    this.#held.set(options.message.id, options.message)
  }

  /** Runs the handler and settles all messages that it holds. An error of the handler or a lost lease is not thrown. */
  async run(): Promise<void> {
    const { handler, onEvent } = this.#options
    try {
      await handler.handle(this)
      this.#options.onHandled()
      await Promise.all(
        [...this.#held.values()].map(async (message) => {
          const settled = await this.#settle(message, () => this.#options.membership.complete(message))
          if (settled && !this.#completed.has(message.id)) onEvent({ kind: 'handled', message })
        }),
      )
    } catch (error) {
      for (const message of this.#held.values()) await this.#giveBack(message, error)
    }
  }

  async take(): Promise<Message | null> {
    if (this.stop.aborted || this.lost.aborted || this.message.group === null || !this.#options.mayTake()) return null
    const message = await this.#options.membership.take(this.message)
    if (!message) return null
    this.#held.set(message.id, message)
    this.#options.onTaken(message)
    return message
  }

  async hold(transaction: RecordsTransaction, message: Message): Promise<void> {
    await this.#fenced(() => this.#options.membership.hold(transaction, message))
  }

  async complete(message: Message, transaction?: RecordsTransaction): Promise<void> {
    await this.#fenced(() => this.#options.membership.complete(message, transaction))
    if (transaction === undefined) this.#held.delete(message.id)
    // The records repeat a transaction that conflicts with another one.
    else if (this.#completed.has(message.id)) return
    else this.#completed.add(message.id)
    this.#options.onEvent({ kind: 'handled', message })
  }

  async release(message: Message, options: { delay?: number } = {}): Promise<void> {
    await this.#fenced(() => this.#options.membership.release(message, options.delay ?? 0))
    this.#held.delete(message.id)
  }

  async #fenced(call: () => Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      if (isCode(error, 'LEASE_LOST')) this.#lost.abort()
      throw error
    }
  }

  async #giveBack(message: Message, error: unknown): Promise<void> {
    const { membership, handler, random, onEvent } = this.#options
    // A lost lease or unavailable records are not the message's fault: no attempt is counted.
    if (isCode(error, 'LEASE_LOST')) return void (await this.#settle(message, () => membership.release(message, 0)))
    if (isUnavailable(error))
      return void (await this.#settle(message, () => membership.release(message, unavailableDelay)))
    const text = error instanceof Error ? error.message : String(error)
    const attempts = attemptsIn(error) ?? message.attempts + 1
    if (attempts >= (handler.tries ?? defaultTries) || isFinal(error)) {
      if (await this.#settle(message, () => membership.fail(message, text, attempts)))
        onEvent({ kind: 'failed', message, error: text })
      return
    }
    const delay = jittered((handler.backoff ?? defaultBackoff)(attempts), random())
    if (await this.#settle(message, () => membership.retry(message, delay, text)))
      onEvent({ kind: 'retried', message, error: text, delay })
  }

  /**
   * Retries until the result is written; false if the lease is lost. Another process may lock the records for longer than one call
   * waits, and that must not make a handled message run again.
   */
  async #settle(message: Message, call: () => Promise<void>): Promise<boolean> {
    while (!this.#options.lost.aborted) {
      try {
        await call()
        return true
      } catch (error) {
        if (isCode(error, 'LEASE_LOST')) break
        if (!isUnavailable(error)) throw error
        // The database may be gone for long: a worker that ends leaves the message to another one.
        if (!isCode(error, 'STORE_BUSY') && !isCode(error, 'STORE_FULL') && this.#options.stop.aborted) break
        await this.#options.timing.sleep(writeRetryDelay, this.#options.lost)
      }
    }
    if (!this.#completed.has(message.id)) this.#options.onEvent({ kind: 'lost', message })
    return false
  }
}

function isCode(error: unknown, code: PagecacheError['code']): boolean {
  return error instanceof PagecacheError && error.code === code
}

function attemptsIn(error: unknown): number | null {
  return error instanceof Error && 'attempts' in error && typeof error.attempts === 'number' ? error.attempts : null
}

function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retry' in error && error.retry === false
}

/** Delay before the next try in milliseconds, before jitter: 1 s, doubled after each try, at most one minute. */
function defaultBackoff(attempts: number): number {
  return Math.min(60_000, 1000 * 2 ** (attempts - 1))
}

/** Varies a delay by up to a fifth, so that messages that failed together are not retried together. `random` is 0 to 1. */
function jittered(delay: number, random: number): number {
  return Math.round(delay * (0.8 + 0.4 * random))
}
