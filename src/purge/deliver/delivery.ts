import type { Timing } from '../../lib/timing.ts'
import { dispatch } from '../../queue/dispatch.ts'
import { hasFailedMessage } from '../../queue/find-messages.ts'
import type { Work } from '../../queue/queue.ts'
import { unsyncedInSqlite } from '../../records/locks.ts'
import type { RecordsDatabase, RecordsTransaction } from '../../records/schema.ts'
import { purgeIdOf } from '../log/log-id.ts'
import { attempt, type Attempt, type SendFailure } from './attempt.ts'
import { afterFailure, closed, waitFor, type Circuit } from './circuit.ts'
import { deliverMessage } from './message.ts'
import { planDelivery, type Pending, type Step } from './plan.ts'
import * as rows from './rows.ts'
import type { PurgeSender } from './send.ts'
import { settleDeliveries, type Settled } from './settle.ts'

export interface DeliverSettings {
  /** Milliseconds for one request. */
  timeout: number
  /** Milliseconds after which an undelivered purge is marked as failed. */
  retryFor: number
  /** With more pending purges than this, everything is purged instead. */
  everythingAbove: number
  /** Milliseconds that a proxy which was unreachable gets to finish the fetches it had started. */
  settle: number
  /** A response slower than this (milliseconds) may come from a proxy that was suspended: it is treated as one that was unreachable. */
  slowAfter: number
}

export interface DeliverOptions {
  db: RecordsDatabase
  /** Milliseconds since the epoch. */
  now(): number
  /** 0 to 1. */
  random(): number
  timing: Timing
  proxies: readonly { name: string; url: string }[]
  settings: DeliverSettings
  /**
   * Called before purges count as delivered, with null for a purge of everything: pages that this cache fetched through the proxy in
   * the meantime may be older than the purges.
   */
  onDelivered(proxy: string, delivered: readonly Pending[] | null): Promise<void>
}

/** Requests to one proxy at a time. */
export const connections = 4

/** Pause before the next round of a delivery, in milliseconds: purges that arrive meanwhile join it. The first round is sent at once. */
const roundPause = 50

/** Most purges that are read and planned together. */
const sliceSize = 1000

/** Purges that are sent and recorded together: up to `sliceSize`, or everything up to the number `last`. */
interface Slice {
  status: rows.Undelivered
  pending: readonly Pending[]
  steps: readonly Step[]
  /** The newest purge that a purge of everything delivers. */
  last: number
}

/** Purges that were marked as failed because they are too old. */
interface Expired {
  count: number
  first: readonly rows.DatedPurge[]
  /** The most attempts made for one of them. */
  attempts: number
}

/** One delivery of all undelivered purges to one proxy. */
export class Delivery {
  readonly #options: DeliverOptions
  readonly #work: Work
  readonly #proxy: string
  readonly #sender: PurgeSender
  #circuit: Circuit

  constructor(options: DeliverOptions, work: Work, proxy: string, sender: PurgeSender, circuit: Circuit) {
    this.#options = options
    this.#work = work
    this.#proxy = proxy
    this.#sender = sender
    this.#circuit = circuit
  }

  /** Delivers until no purge is left or an attempt fails. */
  async run(): Promise<void> {
    const work = this.#work
    for (;;) {
      const slice = await this.#nextSlice()
      if (slice === null) return
      const result = await this.#send(slice)
      await this.#recordDone(slice, result)
      // An aborted request says nothing about the proxy: the next worker sends it again.
      if (work.stop.aborted || work.lost.aborted) return work.release(work.message)
      if (result.failure !== null) return this.#postpone(slice, result, result.failure)
      // Purges of a storm share their requests and transactions.
      if (slice.pending.length < sliceSize) await this.#options.timing.sleep(roundPause, work.stop)
    }
  }

  /** The next pending purges; after those, the ones that failed while the proxy was unreachable. */
  async #nextSlice(): Promise<Slice | null> {
    const { db, settings } = this.#options
    for (const status of ['pending', 'failed'] as const) {
      const last = await rows.lastUndelivered(db, this.#proxy, status)
      if (last === 0) continue
      const pending = await rows.readUndelivered(db, this.#proxy, status, sliceSize)
      const isLarge = await rows.isBacklogAbove(db, this.#proxy, status, settings.everythingAbove)
      return { status, pending, last, steps: isLarge ? [{ kind: 'everything' }] : planDelivery(pending) }
    }
    return null
  }

  /**
   * Sends the steps. A proxy that was unreachable first gets one request as a probe, then all steps twice: a fetch that it had started
   * before may store an old page after the first round. A slow response is treated the same, because the proxy may have been suspended.
   */
  async #send({ steps }: Slice): Promise<Attempt> {
    const end = AbortSignal.any([this.#work.lost, this.#work.stop])
    const send = (some: readonly Step[]) => attempt(this.#sender, some, connections, end)
    if (this.#circuit.failures === 0) {
      const result = await send(steps)
      if (result.failure !== null || !result.done.some(({ ms }) => ms > this.#options.settings.slowAfter)) return result
    } else {
      const probe = await send(steps.slice(0, 1))
      if (probe.failure !== null) return probe
      const rest = await send(steps.slice(1))
      if (rest.failure !== null) return { done: [], failure: rest.failure }
    }
    await this.#options.timing.sleep(this.#options.settings.settle, end)
    return send(steps)
  }

  /** Records acknowledged purges, and closes the circuit with the last of them unless a step failed. */
  async #recordDone(slice: Slice, { done, failure }: Attempt): Promise<void> {
    if (done.length === 0) return
    const everything = done.find(({ step }) => step.kind === 'everything')
    const times = timesOf(done)
    const delivered = everything ? slice.pending : slice.pending.filter(({ id }) => times.has(id))
    await this.#options.onDelivered(this.#proxy, everything ? null : delivered)
    const isOver = failure === null
    const close = (transaction: RecordsTransaction) =>
      rows.writeCircuit(transaction, this.#proxy, closed, this.#options.now(), null)
    if (everything) {
      await this.#recordEverything(slice, everything.ms)
      if (isOver) await this.#write(close)
    } else {
      const resultOf = (id: number) => ({ status: 'delivered' as const, responseTime: times.get(id)!, error: null })
      // The circuit is closed in the same transaction, because rounds of a storm are frequent.
      await this.#settle(delivered, resultOf, isOver ? close : undefined)
    }
    if (isOver) this.#circuit = closed
  }

  async #recordEverything({ status, last }: Slice, ms: number): Promise<void> {
    for (;;) {
      const batch = await rows.nextUndelivered(this.#options.db, this.#proxy, status, last)
      if (batch.length === 0) return
      await this.#settle(batch, () => ({ status: 'delivered', responseTime: ms, error: null }))
    }
  }

  /** Opens the circuit after a failed attempt and marks expired purges as failed; then the message waits, or fails with them. */
  async #postpone({ pending, status }: Slice, { done }: Attempt, { error }: SendFailure): Promise<void> {
    const { db, now, random } = this.#options
    const at = now()
    const circuit = afterFailure(this.#circuit, at, random())
    if (!done.some(({ step }) => step.kind === 'everything')) {
      const times = timesOf(done)
      const open = pending.filter(({ id }) => !times.has(id))
      await this.#settle(open, () => ({ status, responseTime: null, error }))
    }
    await this.#write((transaction) => rows.writeCircuit(transaction, this.#proxy, circuit, at, error))
    const expired = await this.#failExpired()
    const delay = waitFor(circuit, at)
    const isPending = (await rows.lastUndelivered(db, this.#proxy, 'pending')) > 0
    const message = deliverMessage(this.#proxy, delay)
    // One failed message per proxy is enough: it shows the problem to an operator, who can retry it.
    if (isPending && (expired.count === 0 || (await hasFailedMessage(db, message.key))))
      return this.#work.release(this.#work.message, { delay })
    if (isPending) await this.#write((transaction) => dispatch(transaction, at, [message]))
    throw toFinalError(`${this.#proxy}: ${error}`, expired)
  }

  async #failExpired(): Promise<Expired> {
    const { db, now, settings } = this.#options
    const expired: Expired = { count: 0, first: [], attempts: 0 }
    for (;;) {
      const batch = await rows.readPendingBefore(db, this.#proxy, now() - settings.retryFor)
      if (batch.length === 0) return expired
      const ids = batch.map(({ id }) => id)
      await this.#write((transaction) => rows.markFailed(transaction, this.#proxy, ids, null))
      if (expired.count === 0) expired.first = batch
      expired.count += batch.length
      expired.attempts = batch.reduce((most, { attempts }) => Math.max(most, attempts), expired.attempts)
    }
  }

  /** Records results, and does `also` in the transaction of the last ones. If a power cut undoes them, the purges are delivered again. */
  async #settle(
    purges: readonly { id: number; attempts: number }[],
    resultOf: (id: number) => Pick<Settled, 'status' | 'responseTime' | 'error'>,
    also?: (transaction: RecordsTransaction) => Promise<unknown>,
  ): Promise<void> {
    const batches = rows.toBatches(purges)
    for (const batch of batches) {
      const settled = batch.map(({ id, attempts }) => ({ purgeId: id, attempts: attempts + 1, ...resultOf(id) }))
      await this.#write(async (transaction) => {
        await settleDeliveries(transaction, this.#proxy, settled)
        if (batch === batches.at(-1)) await also?.(transaction)
      }, unsyncedInSqlite(this.#options.db))
    }
  }

  /** Writes in a transaction that fails when another worker has taken over the message. */
  async #write(
    write: (transaction: RecordsTransaction) => Promise<unknown>,
    begin = this.#options.db.transaction(),
  ): Promise<void> {
    await begin.execute(async (transaction) => {
      await this.#work.hold(transaction, this.#work.message)
      await write(transaction)
    })
  }
}

/** The error that moves the message to the transport `failed` at once; `retry` and `attempts` are read by the queue. */
function toFinalError(reason: string, { count, first, attempts }: Expired): Error {
  const message = count === 0 ? reason : `${reason}. Given up: ${namePurges(first, count)}`
  return Object.assign(new Error(message), { retry: false, attempts })
}

/** Most purges that an error names, and most characters of each key. */
const maxNamed = 5
const maxKeyLength = 100

function namePurges(first: readonly rows.DatedPurge[], count: number): string {
  const names = first
    .slice(0, maxNamed)
    .map(
      ({ id, kind, key, createdAt }) =>
        `${key === null ? kind : `${kind} ${key.slice(0, maxKeyLength)}`} (purge ${purgeIdOf({ id, created_at: createdAt })})`,
    )
  return names.join(', ') + (count > names.length ? ` and ${count - names.length} more` : '')
}

/** The response time of each purge that was delivered by name, in milliseconds. */
function timesOf(done: Attempt['done']): Map<number, number> {
  return new Map(
    done.flatMap(({ step, ms }) => (step.kind === 'everything' ? [] : step.ids.map((id) => [id, ms] as const))),
  )
}
