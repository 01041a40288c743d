import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Timing } from '../lib/timing.ts'
import { Alertness } from './alertness.ts'
import type { ConsumeEvent } from './consume-event.ts'
import { HeldWork } from './held-work.ts'
import { keepMembership } from './keep-membership.ts'
import type { Handler, Membership, Message, Queue, Transport } from './queue.ts'
import { isUnavailable } from '../records/errors.ts'

export interface ConsumeLimits {
  /** Most messages to take. */
  messages?: number
  /** Failed and retried messages after which the worker ends. */
  failures?: number
  /** Milliseconds. */
  time?: number
  /** Bytes of resident memory. */
  memory?: number
}

export interface ConsumeOptions {
  queue: Queue
  kind: 'consumer' | 'daemon'
  /** Highest priority first. */
  transports: readonly Transport[]
  handlers: readonly Handler[]
  limits?: ConsumeLimits
  /** Milliseconds between two polls of an empty queue; without it new messages are noticed within about 20 ms. */
  sleep?: number
  /** When aborted, the worker finishes the messages in hand and returns. */
  stop: AbortSignal
  timing: Timing
  /** 0 to 1. */
  random(): number
  /** Resident memory now, in bytes. */
  memory(): number
  onEvent(event: ConsumeEvent): void
  /** Called when the worker has joined the queue and takes messages. */
  onJoined?(): void
}

type ConsumeEnd = 'stopped' | 'stop-workers' | 'messages' | 'failures' | 'time' | 'memory'

export interface Consumed {
  /** Number of messages taken. */
  taken: number
  failures: number
  end: ConsumeEnd
}

/** Pause before an unavailable queue is tried again (milliseconds). */
const retryInterval = 250

/**
 * Runs a worker: takes messages and handles them until `stop` is aborted or a limit is reached, then finishes the messages in hand. It
 * handles several messages at once, up to the `concurrency` of each handler. It waits while the records are locked, full or lost; any
 * other error of the queue itself is thrown.
 */
export async function consume(options: ConsumeOptions): Promise<Consumed> {
  return new Consumer(options).run()
}

class Consumer {
  readonly #options: ConsumeOptions
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #busy = new Map<string, number>()
  readonly #slots = new Set<Promise<void>>()
  /** Aborted when no more messages are taken. */
  readonly #end = new AbortController()
  /** Aborted when handlers should finish soon; a limit of messages is no reason to hurry them. */
  readonly #hurry = new AbortController()
  /** Aborted and replaced when the loop must run again: a slot became free, or the worker ends. */
  #wake = new AbortController()
  /** Aborted when the records must be checked for changes now. */
  #nap = new AbortController()
  #reason: ConsumeEnd = 'stopped'
  #fatal: { error: unknown } | null = null
  /** Id of the next membership. A join that failed may have been committed: the next attempt has the same id. */
  #id = randomUUID()
  /** Messages of errors since the records were last available. */
  readonly #reported = new Set<string>()
  #taken = 0
  #failures = 0

  constructor(options: ConsumeOptions) {
    this.#options = options
    this.#handlers = new Map(options.handlers.map((handler) => [handler.type, handler]))
  }

  async run(): Promise<Consumed> {
    const { stop, limits, timing } = this.#options
    const onStop = () => this.#finish('stopped')
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop, { once: true })
    if (limits?.time !== undefined) void timing.sleep(limits.time, this.#end.signal).then(() => this.#finish('time'))
    try {
      while (!this.#end.signal.aborted) await this.#runMembership()
    } finally {
      stop.removeEventListener('abort', onStop)
      this.#end.abort()
    }
    if (this.#fatal) throw this.#fatal.error
    return { taken: this.#taken, failures: this.#failures, end: this.#reason }
  }

  /** One membership: from joining until the worker ends or others have taken it over. */
  async #runMembership(): Promise<void> {
    const { queue, kind, transports, timing, onEvent, onJoined } = this.#options
    const membership = await this.#whenAvailable(() =>
      queue.join({ id: this.#id, kind, transports, types: [...this.#handlers.keys()] }),
    )
    if (!membership) return
    onJoined?.()
    this.#reported.clear()
    this.#id = randomUUID()
    const lost = new AbortController()
    const done = new AbortController()
    const keeping = keepMembership({
      membership,
      timing,
      done: done.signal,
      onEvent,
      onUnavailable: (error) => this.#reportUnavailable(error),
      onLost: () => lost.abort(),
      onStopping: () => this.#finish('stop-workers'),
    }).catch((error: unknown) => this.#break(error))
    lost.signal.addEventListener('abort', () => this.#wakeUp())
    const alertness = new Alertness({
      watch: (listener) => membership.watch(listener),
      now: () => timing.now(),
      onAlert: () => this.#nap.abort(),
    })
    try {
      while (!this.#end.signal.aborted && !lost.signal.aborted) await this.#step(membership, alertness, lost.signal)
    } finally {
      alertness.close()
      // The worker keeps its leases until the last message is finished.
      await Promise.all(this.#slots)
      done.abort()
      await keeping
      await membership.leave().catch((error: unknown) => this.#reportUnavailable(error))
    }
  }

  async #step(membership: Membership, alertness: Alertness, lost: AbortSignal): Promise<void> {
    // The records answer synchronously: without this, visitors and signals would wait until the queue is empty.
    await nextTurn()
    if (this.#end.signal.aborted || lost.aborted) return
    // Whatever happens from here on ends the wait: a slot may become free while messages are claimed.
    const { signal } = this.#wake
    const version = await this.#whenAvailable(async () => membership.version())
    if (version === null) return
    const wanted = this.#freeSlots()
    const messages =
      wanted.size === 0
        ? []
        : await this.#whenAvailable(() =>
            membership.claim(wanted, (this.#options.limits?.messages ?? Infinity) - this.#taken),
          )
    if (messages !== null && wanted.size > 0) this.#reported.clear()
    for (const message of messages ?? []) this.#start(membership, message, lost)
    if (messages?.length) return
    const { timing, sleep } = this.#options
    this.#checkMemory()
    if (this.#end.signal.aborted) return
    if (sleep !== undefined) await timing.sleep(sleep, signal)
    // Unavailable records had their pause, and may have messages that are due.
    else if (messages !== null) await this.#wait(membership, alertness, { version, signal })
  }

  /** How many more messages of each type may be handled now. */
  #freeSlots(): ReadonlyMap<string, number> {
    const free = [...this.#handlers.values()].map(
      ({ type, concurrency = 1 }) => [type, concurrency - (this.#busy.get(type) ?? 0)] as const,
    )
    return new Map(free.filter(([, count]) => count > 0))
  }

  #start(membership: Membership, message: Message, lost: AbortSignal): void {
    const { timing, random } = this.#options
    const handler = this.#handlers.get(message.type)!
    this.#count()
    this.#busy.set(message.type, (this.#busy.get(message.type) ?? 0) + 1)
    let busy = true
    const free = () => {
      if (!busy) return
      busy = false
      this.#busy.set(message.type, this.#busy.get(message.type)! - 1)
      this.#wakeUp()
    }
    const work = new HeldWork({
      membership,
      handler,
      message,
      lost,
      timing,
      random,
      stop: this.#hurry.signal,
      mayTake: () => !this.#end.signal.aborted,
      onTaken: () => this.#count(),
      onHandled: free,
      onEvent: (event) => this.#note(event),
    })
    const slot = work
      .run()
      .catch((error: unknown) => this.#break(error))
      .finally(() => {
        this.#slots.delete(slot)
        this.#checkMemory()
        free()
      })
    this.#slots.add(slot)
  }

  #checkMemory(): void {
    const { limits, memory } = this.#options
    if (limits?.memory !== undefined && memory() > limits.memory) this.#finish('memory')
  }

  /** Waits until there may be something to claim that was not there in this version, or the signal ends it. */
  async #wait(
    membership: Membership,
    alertness: Alertness,
    { version, signal }: { version: string; signal: AbortSignal },
  ): Promise<void> {
    const { timing } = this.#options
    const until = timing.now() + ((await this.#whenAvailable(() => membership.untilDue())) ?? 0)
    for (let rest = until - timing.now(); rest > 0 && !signal.aborted; rest = until - timing.now()) {
      // Before the check, so that a slot that becomes free during the check also ends the nap.
      this.#nap = new AbortController()
      const changed = await this.#whenAvailable(async () => membership.version() !== version)
      if (changed !== false) return alertness.raise()
      await timing.sleep(Math.min(alertness.interval(), rest), this.#nap.signal)
    }
  }

  #wakeUp(): void {
    this.#wake.abort()
    this.#wake = new AbortController()
    this.#nap.abort()
  }

  #count(): void {
    this.#taken++
    if (this.#taken === this.#options.limits?.messages) this.#finish('messages')
  }

  #note(event: ConsumeEvent): void {
    if (event.kind === 'failed' || event.kind === 'retried') {
      this.#failures++
      if (this.#failures === this.#options.limits?.failures) this.#finish('failures')
    }
    this.#options.onEvent(event)
  }

  #finish(reason: ConsumeEnd): void {
    if (reason !== 'messages' && reason !== 'failures') this.#hurry.abort()
    if (this.#end.signal.aborted) return
    this.#reason = reason
    this.#end.abort()
    this.#wakeUp()
  }

  #break(error: unknown): void {
    this.#fatal ??= { error }
    this.#finish('stopped')
  }

  #reportUnavailable(error: unknown): void {
    if (!isUnavailable(error)) throw error
    // A lasting problem is reported once.
    if (this.#reported.has(error.message)) return
    this.#reported.add(error.message)
    this.#options.onEvent({ kind: 'unavailable', error: error.message })
  }

  /** Calls the queue; returns null, after a pause, when the records are unavailable. */
  async #whenAvailable<T>(call: () => Promise<T>): Promise<T | null> {
    try {
      return await call()
    } catch (error) {
      this.#reportUnavailable(error)
      await this.#options.timing.sleep(retryInterval, this.#wake.signal)
      return null
    }
  }
}
