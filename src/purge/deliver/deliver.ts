import type { Timing } from '../../lib/timing.ts'
import { dispatch } from '../../queue/dispatch.ts'
import type { Handler, Work } from '../../queue/queue.ts'
import type { RecordsDatabase, RecordsTransaction } from '../../records/schema.ts'
import { attempt, type Attempt, type Trouble } from './attempt.ts'
import { afterFailure, closed, waitFor, type Circuit } from './circuit.ts'
import { planDelivery, type Pending, type Step } from './plan.ts'
import * as rows from './rows.ts'
import { PurgeSender } from './send.ts'
import { purgeIdOf } from '../log/log-id.ts'
import { settleDeliveries, type Settled } from './settle.ts'

/** Milliseconds, but for `everythingAbove`: the number of waiting purges from which emptying the proxy is cheaper. */
export interface DeliverSettings {
  timeout: number
  retryFor: number
  everythingAbove: number
  /** How long a proxy that was away may take to finish what it was fetching. */
  settle: number
  /** A proxy that takes longer for an answer may have stood still, and is treated as one that was away. */
  promptly: number
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
  /** Told before purges count as delivered: pages that came here from that proxy meanwhile are older than the purges. Null: everything. */
  onDelivered(proxy: string, delivered: readonly Pending[] | null): Promise<void>
}

export const deliverType = 'purge.deliver'

/** Purges that are read, planned and noted together. */
const purgesAtOnce = 1000
/** Requests to one proxy at a time. */
const connections = 4

/** The message by which a proxy's waiting purges are delivered; one that waits already is enough. */
function deliverMessage(proxy: string, delay = 0) {
  return {
    transport: 'async' as const,
    type: deliverType,
    payload: { proxy },
    group: `proxy:${proxy}`,
    key: `proxy:${proxy}`,
    delay,
  }
}

/**
 * The handler of `purge.deliver`: tells one proxy of all purges that wait for it, and does not rest until it has taken them. A proxy
 * that does not answer is tried again, later each time; no other one waits for it.
 */
export function deliverHandler(options: DeliverOptions): Handler {
  return {
    type: deliverType,
    concurrency: Math.max(1, options.proxies.length),
    async handle(work) {
      const name = (work.message.payload as { proxy: string }).proxy
      const proxy = options.proxies.find((each) => each.name === name)
      if (proxy === undefined) return giveUpAll(options, work, name)
      const circuit = await rows.readCircuit(options.db, name)
      const wait = waitFor(circuit, options.now())
      if (wait > 0) return work.release(work.message, { delay: wait })
      const sender = await PurgeSender.open({ url: proxy.url, timeout: options.settings.timeout }, connections)
      try {
        await new Delivery(options, work, name, sender, circuit).run()
      } finally {
        await sender.close()
      }
    },
  }
}

/** What stands beside the purges that were given up because the worker did not know their proxy. */
const unknownProxy = 'it is no longer configured'

/**
 * Queues the delivery to proxies that purges wait for although no message does: a worker with another configuration gave them up.
 * For a worker that begins. @param proxies names of those that it knows
 */
export async function resumeDeliveries(
  { db, now }: Pick<DeliverOptions, 'db' | 'now'>,
  proxies: readonly string[],
): Promise<void> {
  const waiting = await rows.proxiesGivenUpFor(db, unknownProxy)
  const known = proxies.filter((proxy) => waiting.includes(proxy))
  if (known.length > 0)
    await db.transaction().execute((transaction) =>
      dispatch(
        transaction,
        now(),
        known.map((proxy) => deliverMessage(proxy)),
      ),
    )
}

/** Purges for a proxy that is no longer configured wait for nobody. */
async function giveUpAll({ db }: DeliverOptions, work: Work, proxy: string): Promise<void> {
  const last = await rows.lastUndelivered(db, proxy, 'pending')
  for (;;) {
    const some = await rows.nextUndelivered(db, proxy, 'pending', last)
    if (some.length === 0) return
    await db.transaction().execute(async (transaction) => {
      await work.hold(transaction, work.message)
      await rows.markGivenUp(
        transaction,
        proxy,
        some.map(({ id }) => id),
        unknownProxy,
      )
    })
  }
}

/** What is sent and noted together: some purges, or all up to a number. */
interface Slice {
  status: rows.Undelivered
  pending: readonly Pending[]
  steps: readonly Step[]
  /** For `everything`: the last purge that it does for. */
  last: number
}

class Delivery {
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

  /** Delivers until nothing waits. */
  async run(): Promise<void> {
    const work = this.#work
    for (;;) {
      const slice = await this.#next()
      if (slice === null) return
      const made = await this.#send(slice)
      await this.#noteDone(slice, made)
      // A request that was broken off because the worker ends says nothing of the proxy: the next worker sends it again.
      if (work.stop.aborted || work.lost.aborted) return work.release(work.message)
      if (made.trouble !== null) return this.#postpone(slice, { ...made, trouble: made.trouble })
    }
  }

  /** What waits, and when that is all done, what was given up while the proxy was away for too long. */
  async #next(): Promise<Slice | null> {
    const { db, settings } = this.#options
    for (const status of ['pending', 'failed'] as const) {
      const last = await rows.lastUndelivered(db, this.#proxy, status)
      if (last === 0) continue
      const pending = await rows.readUndelivered(db, this.#proxy, status, purgesAtOnce)
      const many = await rows.isBacklogAbove(db, this.#proxy, status, settings.everythingAbove)
      return { status, pending, last, steps: many ? [{ kind: 'everything' }] : planDelivery(pending) }
    }
    return null
  }

  /**
   * A proxy that was away is first sent one request, and then everything twice: what it was fetching while it stood still may have
   * come into its cache behind the first round. So is one that took long to answer: it may have stood still as well.
   */
  async #send({ steps }: Slice): Promise<Attempt> {
    const end = AbortSignal.any([this.#work.lost, this.#work.stop])
    if (this.#circuit.failures === 0) {
      const made = await attempt(this.#sender, steps, end)
      if (made.trouble !== null || !made.done.some(({ ms }) => ms > this.#options.settings.promptly)) return made
    } else {
      const [probe, ...rest] = steps
      const probed = await attempt(this.#sender, [probe!], end)
      if (probed.trouble !== null) return probed
      const first = await attempt(this.#sender, rest, end)
      if (first.trouble !== null) return { done: [], trouble: first.trouble }
    }
    await this.#options.timing.sleep(this.#options.settings.settle, end)
    return attempt(this.#sender, steps, end)
  }

  async #noteDone(slice: Slice, { done, trouble }: Attempt): Promise<void> {
    if (done.length === 0) return
    const everything = done.find(({ step }) => step.kind === 'everything')
    const taken = everything ? slice.pending : slice.pending.filter(isIn(done))
    await this.#options.onDelivered(this.#proxy, everything ? null : taken)
    if (everything) await this.#noteEverything(slice, everything.ms)
    else
      for (const { step, ms } of done)
        await this.#settle(taken.filter(isIn([{ step }])), { status: 'delivered', responseTime: ms, error: null })
    if (trouble !== null) return
    this.#circuit = closed
    await this.#write((transaction) => rows.writeCircuit(transaction, this.#proxy, closed, this.#options.now(), null))
  }

  async #noteEverything({ status, last }: Slice, ms: number): Promise<void> {
    for (;;) {
      const some = await rows.nextUndelivered(this.#options.db, this.#proxy, status, last)
      if (some.length === 0) return
      await this.#settle(some, { status: 'delivered', responseTime: ms, error: null })
    }
  }

  /** The proxy is left alone for a while; what has waited for too long is given up, and the message with it. */
  async #postpone({ pending, status }: Slice, { done, trouble }: Attempt & { trouble: Trouble }): Promise<void> {
    const { db, now, random } = this.#options
    const at = now()
    const circuit = afterFailure(this.#circuit, at, random())
    if (!done.some(({ step }) => step.kind === 'everything')) {
      const open = pending.filter((each) => !isIn(done)(each))
      await this.#settle(open, { status, responseTime: null, error: trouble.error })
    }
    await this.#write((transaction) => rows.writeCircuit(transaction, this.#proxy, circuit, at, trouble.error))
    const givenUp = await this.#giveUpOld()
    const reason = `${this.#proxy}: ${trouble.error}`
    const delay = waitFor(circuit, at)
    const waits = (await rows.lastUndelivered(db, this.#proxy, 'pending')) > 0
    const message = deliverMessage(this.#proxy, delay)
    // One message among the failed ones is enough to find it, and to try again.
    if (waits && !(givenUp.count > 0 && !(await rows.hasFailedMessage(db, message.key))))
      return this.#work.release(this.#work.message, { delay })
    if (waits) await this.#write((transaction) => dispatch(transaction, at, [message]))
    const { first, count, attempts } = givenUp
    throw Object.assign(new Error(count === 0 ? reason : `${reason}. Given up: ${namePurges(first, count)}`), {
      retry: false,
      attempts,
    })
  }

  /** Gives up purges that are older than the bound: how many, the first of them, and how often those were tried that were tried most. */
  async #giveUpOld(): Promise<{ count: number; first: readonly rows.WaitingPurge[]; attempts: number }> {
    const { db, now, settings } = this.#options
    const givenUp = { count: 0, first: [] as readonly rows.WaitingPurge[], attempts: 0 }
    for (;;) {
      const some = await rows.pendingSince(db, this.#proxy, now() - settings.retryFor)
      if (some.length === 0) return givenUp
      await this.#write((transaction) =>
        rows.markGivenUp(
          transaction,
          this.#proxy,
          some.map(({ id }) => id),
          null,
        ),
      )
      if (givenUp.count === 0) givenUp.first = some
      givenUp.count += some.length
      givenUp.attempts = some.reduce((most, { attempts }) => Math.max(most, attempts), givenUp.attempts)
    }
  }

  async #settle(
    purges: readonly { id: number; attempts: number }[],
    result: Pick<Settled, 'status' | 'responseTime' | 'error'>,
  ): Promise<void> {
    for (const some of rows.slices(purges)) {
      const settled = some.map(({ id, attempts }) => ({ purgeId: id, attempts: attempts + 1, ...result }))
      await this.#write((transaction) => settleDeliveries(transaction, this.#proxy, settled))
    }
  }

  async #write(result: (transaction: RecordsTransaction) => Promise<unknown>): Promise<void> {
    await this.#options.db.transaction().execute(async (transaction) => {
      await this.#work.hold(transaction, this.#work.message)
      await result(transaction)
    })
  }
}

/** Purges that a message names; a key is cut to a length that can be read. */
const namedPurges = 5
const longestKey = 100

function namePurges(first: readonly rows.WaitingPurge[], count: number): string {
  const names = first
    .slice(0, namedPurges)
    .map(
      ({ id, kind, key, createdAt }) =>
        `${key === null ? kind : `${kind} ${key.slice(0, longestKey)}`} (purge ${purgeIdOf({ id, created_at: createdAt })})`,
    )
  return names.join(', ') + (count > names.length ? ` and ${count - names.length} more` : '')
}

/** Whether a purge is among those that steps did. */
function isIn(done: readonly { step: Step }[]): (purge: { id: number }) => boolean {
  const ids = new Set(done.flatMap(({ step }) => (step.kind === 'everything' ? [] : step.ids)))
  return ({ id }) => ids.has(id)
}
