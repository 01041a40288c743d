import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Timing } from '../lib/timing.ts'
import type { ConsumeEvent } from './consume-event.ts'
import { HeldWork } from './held-work.ts'
import { keepMembership } from './keep-membership.ts'
import type { Handler, Membership, Message, Queue, Transport } from './queue.ts'
import { isRecordsTrouble } from './trouble.ts'

export interface ConsumeLimits {
  /** Messages to take in all. */
  messages?: number
  /** Messages that may fail or be retried. */
  failures?: number
  /** Milliseconds. */
  time?: number
  /** Bytes of resident memory. */
  memory?: number
}

export interface ConsumeOptions {
  queue: Queue
  kind: 'consumer' | 'daemon'
  /** In order of priority. */
  transports: readonly Transport[]
  handlers: readonly Handler[]
  limits?: ConsumeLimits
  /** Milliseconds between two looks while there is nothing to do; without it new messages are noticed within about twenty. */
  sleep?: number
  /** Finish what is in hand and come back. */
  stop: AbortSignal
  timing: Timing
  /** 0 to 1. */
  random(): number
  /** Bytes of resident memory now. */
  memory(): number
  onEvent(event: ConsumeEvent): void
}

type ConsumeEnd = 'stopped' | 'stop-workers' | 'messages' | 'failures' | 'time' | 'memory'

export interface Consumed {
  /** Messages taken. */
  taken: number
  failures: number
  end: ConsumeEnd
}

/** How often it is asked whether anything was written while there is nothing to do (milliseconds). Asking takes a microsecond, waking up for it a hundred: one per cent of a core. */
const pollEvery = 20
/** Put-off messages and those of workers that left come due without anything being written now (milliseconds). */
const claimEvery = 250

/**
 * Takes messages and has them handled until it is told to stop or a limit is reached, then finishes what is in
 * hand. Several messages are worked on at once, as many of each type as its handler says. Locked and full records
 * are waited for; anything else that goes wrong in the queue itself is thrown.
 */
export async function consume(options: ConsumeOptions): Promise<Consumed> {
  return new Consumer(options).run()
}

class Consumer {
  readonly #options: ConsumeOptions
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #busy = new Map<string, number>()
  readonly #slots = new Set<Promise<void>>()
  /** Nothing more is taken. */
  readonly #end = new AbortController()
  /** What is in hand should come to its end soon: a limit of messages alone is no reason for that. */
  readonly #hurry = new AbortController()
  /** Aborted, and replaced, when the loop has to look again: a slot came free, or the end has come. */
  #wake = new AbortController()
  #reason: ConsumeEnd = 'stopped'
  #fault: { error: unknown } | null = null
  #told: string | null = null
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
      while (!this.#end.signal.aborted) await this.#serve()
    } finally {
      stop.removeEventListener('abort', onStop)
      this.#end.abort()
    }
    if (this.#fault) throw this.#fault.error
    return { taken: this.#taken, failures: this.#failures, end: this.#reason }
  }

  /** One membership, from joining until the end or until others took us for dead. */
  async #serve(): Promise<void> {
    const { queue, kind, transports, timing, onEvent } = this.#options
    const membership = await this.#patiently(() => queue.join({ kind, transports, types: [...this.#handlers.keys()] }))
    if (!membership) return
    const lost = new AbortController()
    const done = new AbortController()
    const keeping = keepMembership({
      membership,
      timing,
      done: done.signal,
      onEvent,
      onLost: () => lost.abort(),
      onStopping: () => this.#finish('stop-workers'),
    }).catch((error: unknown) => this.#break(error))
    lost.signal.addEventListener('abort', () => this.#look())
    try {
      while (!this.#end.signal.aborted && !lost.signal.aborted) await this.#step(membership, lost.signal)
    } finally {
      // Leases are kept until the last message is finished.
      await Promise.all(this.#slots)
      done.abort()
      await keeping
      await membership.leave().catch((error: unknown) => this.#trouble(error))
    }
  }

  async #step(membership: Membership, lost: AbortSignal): Promise<void> {
    // The records answer within the turn of the event loop in which they are asked: without this, visitors of the daemon and
    // signals would wait until the queue is empty.
    await nextTurn()
    if (this.#end.signal.aborted || lost.aborted) return
    const version = membership.version()
    const wanted = this.#room()
    const messages =
      wanted.size === 0
        ? []
        : await this.#patiently(() =>
            membership.claim(wanted, (this.#options.limits?.messages ?? Infinity) - this.#taken),
          )
    for (const message of messages ?? []) this.#start(membership, message, lost)
    if (!messages?.length) await this.#wait(membership, version)
  }

  /** How many messages of each type may be begun now. */
  #room(): ReadonlyMap<string, number> {
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
      this.#look()
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
        this.#weigh()
        free()
      })
    this.#slots.add(slot)
  }

  #weigh(): void {
    const { limits, memory } = this.#options
    if (limits?.memory !== undefined && memory() > limits.memory) this.#finish('memory')
  }

  /** Until there may be something to claim, or the end has come. */
  async #wait(membership: Membership, version: string): Promise<void> {
    const { timing, sleep } = this.#options
    const { signal } = this.#wake
    this.#weigh()
    if (this.#end.signal.aborted) return
    if (sleep !== undefined) return timing.sleep(sleep, signal)
    const until = timing.now() + claimEvery
    while (!signal.aborted && timing.now() < until && membership.version() === version)
      await timing.sleep(pollEvery, signal)
  }

  #look(): void {
    this.#wake.abort()
    this.#wake = new AbortController()
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
    this.#look()
  }

  #break(error: unknown): void {
    this.#fault ??= { error }
    this.#finish('stopped')
  }

  #trouble(error: unknown): void {
    if (!isRecordsTrouble(error)) throw error
    // Trouble that lasts is told once.
    if (error.message === this.#told) return
    this.#told = error.message
    this.#options.onEvent({ kind: 'trouble', error: error.message })
  }

  /** Null where the records cannot be used now: a moment has passed then. */
  async #patiently<T>(call: () => Promise<T>): Promise<T | null> {
    try {
      const result = await call()
      this.#told = null
      return result
    } catch (error) {
      this.#trouble(error)
      await this.#options.timing.sleep(claimEvery, this.#wake.signal)
      return null
    }
  }
}
