import { PagecacheError } from '../errors.ts'
import type { Timing } from '../lib/timing.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { defaultBackoff, jittered } from './backoff.ts'
import type { ConsumeEvent } from './consume-event.ts'
import type { Handler, Membership, Message, Work } from './queue.ts'
import { isRecordsTrouble } from './trouble.ts'

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
  /** The handler has returned: what is left is to write that down, and the next message may be begun. */
  onHandled(): void
  onEvent(event: ConsumeEvent): void
}

/** How long the records' owner is given before a result is offered to them again (milliseconds). */
const patienceBetween = 250
/** A message whose handler met locked or full records waits this long (milliseconds). */
const recordsDelay = 1000
const triesWithout = 3

/** One call of a handler: the messages that it holds, and what becomes of each. */
export class HeldWork implements Work {
  readonly message: Message
  readonly stop: AbortSignal
  readonly lost: AbortSignal
  readonly #options: HeldWorkOptions
  readonly #lost = new AbortController()
  readonly #held = new Map<string, Message>()
  /** Completed in a transaction of the handler's, which may have been rolled back. */
  readonly #completed = new Set<string>()

  constructor(options: HeldWorkOptions) {
    this.#options = options
    this.message = options.message
    this.stop = options.stop
    this.lost = AbortSignal.any([options.lost, this.#lost.signal])
    this.#held.set(options.message.id, options.message)
  }

  /** Runs the handler and settles everything that it held. Never throws for what a handler or a lost lease can do. */
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
    // The lease of one message was lost, or the records could not be written: no fault of any message.
    if (isCode(error, 'LEASE_LOST')) return void (await this.#settle(message, () => membership.release(message, 0)))
    if (isRecordsTrouble(error))
      return void (await this.#settle(message, () => membership.release(message, recordsDelay)))
    const text = error instanceof Error ? error.message : String(error)
    const attempts = triesOf(error) ?? message.attempts + 1
    if (attempts >= (handler.tries ?? triesWithout) || mayNotRetry(error)) {
      if (await this.#settle(message, () => membership.fail(message, text, attempts)))
        onEvent({ kind: 'failed', message, error: text })
      return
    }
    const delay = jittered((handler.backoff ?? defaultBackoff)(attempts), random())
    if (await this.#settle(message, () => membership.retry(message, delay, text)))
      onEvent({ kind: 'retried', message, error: text, delay })
  }

  /**
   * Tries until it is written, or the message is no longer ours (false): another process may lock the records for
   * longer than one call waits, and what is done must not be done again because of it.
   */
  async #settle(message: Message, call: () => Promise<void>): Promise<boolean> {
    while (!this.#options.lost.aborted) {
      try {
        await call()
        return true
      } catch (error) {
        if (isCode(error, 'LEASE_LOST')) break
        if (!isRecordsTrouble(error)) throw error
        // Nobody knows when the file comes back; another worker takes the message up again.
        if (isCode(error, 'STORE_LOST') && this.#options.stop.aborted) break
        await this.#options.timing.sleep(patienceBetween, this.#options.lost)
      }
    }
    if (!this.#completed.has(message.id)) this.#options.onEvent({ kind: 'lost', message })
    return false
  }
}

function isCode(error: unknown, code: PagecacheError['code']): boolean {
  return error instanceof PagecacheError && error.code === code
}

function triesOf(error: unknown): number | null {
  return error instanceof Error && 'attempts' in error && typeof error.attempts === 'number' ? error.attempts : null
}

function mayNotRetry(error: unknown): boolean {
  return error instanceof Error && 'retry' in error && error.retry === false
}
