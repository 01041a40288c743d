import { PagecacheError } from '../errors.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import { hasEnded, isSame } from '../lib/process-identity.ts'
import { SteadySet } from '../lib/steady-map.ts'
import { UnderWay } from '../lib/under-way.ts'
import type { DeliverySetup } from './deliver/open-delivery.ts'
import { toPlan, type PurgeOwner, type PurgingOptions } from './intent.ts'
import { applyBudget } from './budget.ts'
import { carryOut } from './invalidate.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'
import { invalidationIdOf } from './log/log-id.ts'
import type { PurgeKey } from './purge-key.ts'
import { PurgeLanes } from './purge-lanes.ts'
import { releaseRecorded } from './release.ts'
import { toGroups } from './remove-locally.ts'
import { traceUrls } from './log/trace-urls.ts'

/** The purges of one environment, as the app opens them. */
export interface Purging {
  /**
   * Invalidates pages, whatever the source of the request: the only way to do so. It first records the intent durably, then removes the
   * pages here behind the fence of the page store, then records the purges, the pending deliveries and their messages in one
   * transaction. So a page is gone here before a proxy can fetch it again, and after a crash the intent is carried out later.
   * Invalidations that arrive together share these transactions.
   *
   * @throws INVALID_INPUT, STORE_BUSY, STORE_FULL
   */
  invalidate(invalidation: Invalidation): Promise<Invalidated>
  /** Carries out intents of processes that ended, and records the missing URLs. Returns the number of invalidations. */
  catchUp(): Promise<number>
  /**
   * Delivers purges to the reverse proxies, off the thread that serves visitors, until `stop` is aborted; missing where purges have no
   * thread of their own. `onEvent` is not told of handled messages.
   */
  deliver?(setup: DeliverySetup, options: DeliverControl): Promise<void>
  close(): Promise<void>
}

export interface DeliverControl {
  stop: AbortSignal
  onEvent(event: ConsumeEvent): void
  onJoined?(): void
}

/** How often a long-lived process checks for unfinished work of others, in milliseconds. */
const checkInterval = 2_000

/** How long a process may leave recorded pages unreleased, in milliseconds: it releases those of many purges together. */
const releasedWithin = 30_000

/** Longer than any invalidation takes, in milliseconds: after that its process counts as ended even if that cannot be checked. */
const abandonedAfter = 600_000

/** Opens the purges and carries out unfinished intents of killed processes. */
export async function openPurging(options: PurgingOptions): Promise<Purging> {
  const purging = new RecordedPurging(options)
  await purging.repair()
  // Bound functions, so that callers may wrap them.
  return {
    invalidate: (invalidation) => purging.invalidate(invalidation),
    catchUp: () => purging.catchUp(),
    close: () => purging.close(),
  }
}

interface IntentRow {
  id: number
  created_at: number
  source: string
  soft: number
  intent: string | null
  owner: string | null
}

class RecordedPurging {
  readonly #options: PurgingOptions
  readonly #lanes: PurgeLanes
  readonly #stopping = new AbortController()
  /** Invalidations that this process is carrying out. */
  readonly #inHand = new SteadySet<number>()
  /** Invalidations that failed here; the next check retries them. */
  readonly #failed = new Set<number>()
  readonly #running = new UnderWay()
  readonly #timer: NodeJS.Timeout
  #checking = false

  constructor(options: PurgingOptions) {
    this.#options = options
    this.#lanes = new PurgeLanes(options, {
      onStarted: (ids) => ids.forEach((id) => this.#inHand.add(id)),
      onEnded: (ids, failed) => {
        for (const id of ids) {
          this.#inHand.delete(id)
          if (failed) this.#failed.add(id)
        }
      },
      track: (work) => this.#running.track(work),
    })
    this.#timer = setInterval(() => void this.#running.track(this.#check()), checkInterval)
    this.#timer.unref()
  }

  invalidate(invalidation: Invalidation): Promise<Invalidated> {
    return this.#running.track(this.#invalidate(invalidation))
  }

  async #invalidate(invalidation: Invalidation): Promise<Invalidated> {
    const { budget, pages } = this.#options
    const asked = toPlan(invalidation)
    const { plan, softened } = budget === null ? { plan: asked, softened: [] } : await applyBudget(pages, budget, asked)
    const { intent, pagesRemoved, nodes, tracing, unconfirmed } = await this.#lanes.add(plan)
    if (tracing) void this.#running.track(this.#untilNextCheck(() => this.#traceUrls(intent.id)))
    const invalidationId = invalidationIdOf({ created_at: intent.at, id: intent.id })
    const elsewhere = { ...(nodes !== null && { nodes }), ...(unconfirmed.length > 0 && { unconfirmed }) }
    return { invalidationId, pagesRemoved, softened, ...elsewhere }
  }

  async catchUp(): Promise<number> {
    return (await this.repair()) + (await this.#traceRest(this.#options.now()))
  }

  /**
   * Carries out intents that failed here or whose process has ended, and releases what is recorded. Returns the number of intents.
   *
   * @param before as for `releaseRecorded`
   */
  async repair(before = Infinity): Promise<number> {
    const rows = await this.#options.records.db
      .selectFrom('invalidations')
      .select(['id', 'created_at', 'source', 'soft', 'intent', 'owner'])
      .where('intent', 'is not', null)
      .orderBy('id')
      .execute()
    let repaired = 0
    for (const row of rows) {
      if (this.#inHand.has(row.id)) continue
      if (!this.#failed.has(row.id) && !this.#isForgotten(row) && !this.#isAbandoned(row)) continue
      if (await this.#adopt(row)) repaired += 1
    }
    await releaseRecorded(this.#options, before)
    return repaired
  }

  /** Takes over an intent and carries it out; false if another process was faster. */
  async #adopt({ id, created_at: at, source, soft, intent, owner }: IntentRow): Promise<boolean> {
    this.#inHand.add(id)
    try {
      // Read again: since the rows were listed, another attempt may have recorded some of the purges and failed.
      const taken = await this.#options.records.db
        .updateTable('invalidations')
        .set({ owner: JSON.stringify(this.#options.owner) })
        .where('id', '=', id)
        .where('intent', 'is not', null)
        .where('owner', 'is', owner)
        .returning('recorded')
        .executeTakeFirst()
      if (taken === undefined) return false
      const keys = JSON.parse(intent!) as PurgeKey[]
      await carryOut(this.#options, {
        id,
        at,
        source,
        soft: soft !== 0,
        keys,
        groups: toGroups(keys),
        wholeDirectory: false,
        recorded: JSON.parse(taken.recorded ?? '[]') as number[],
        clock: (await this.#options.cluster?.numberOf(id)) ?? null,
        again: true,
      })
      this.#failed.delete(id)
      return true
    } finally {
      this.#inHand.delete(id)
    }
  }

  /** Whether this thread recorded an intent and does not know it: the connection was lost before the commit was acknowledged. */
  #isForgotten({ owner, created_at }: Pick<IntentRow, 'owner' | 'created_at'>): boolean {
    return owner === JSON.stringify(this.#options.owner) && created_at < this.#lanes.recordingSince
  }

  #isAbandoned({ owner, created_at }: { owner: string | null; created_at: number }): boolean {
    const { owner: self, endedThreads = [], now } = this.#options
    if (owner === null || created_at < now() - abandonedAfter) return true
    const other = JSON.parse(owner) as PurgeOwner
    return (
      hasEnded(other, self) ||
      (isSame(other, self) && other.thread !== undefined && endedThreads.includes(other.thread))
    )
  }

  async #check(): Promise<void> {
    if (this.#checking || this.#stopping.signal.aborted) return
    this.#checking = true
    try {
      // The process of a recent invalidation is still recording its URLs.
      await this.#untilNextCheck(
        async () =>
          void (
            (await this.repair(this.#options.now() - releasedWithin)) +
            (await this.#traceRest(this.#options.now() - 5 * checkInterval))
          ),
      )
    } finally {
      this.#checking = false
    }
  }

  /** Records the URLs of invalidations made at or before `before` (milliseconds since the epoch). */
  async #traceRest(before: number): Promise<number> {
    const rows = await this.#options.records.db
      .selectFrom('invalidations')
      .select('id')
      .where('trace', 'is not', null)
      .where('created_at', '<=', before)
      .orderBy('id')
      .execute()
    for (const { id } of rows) await this.#traceUrls(id)
    return rows.length
  }

  #traceUrls(id: number): Promise<void> {
    return traceUrls(this.#options, id, this.#stopping.signal)
  }

  /** Ignores errors of the stores: the next check retries the work. */
  async #untilNextCheck(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof PagecacheError)) throw error
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    this.#lanes.hurry()
    while (this.#running.size > 0) await this.#running.settled()
  }
}
