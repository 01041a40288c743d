import { PagecacheError } from '../errors.ts'
import { hasEnded, isSame } from '../queue/process-identity.ts'
import { toPlan, type PurgeOwner, type PurgingOptions } from './intent.ts'
import { carryOut } from './invalidate.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'
import { invalidationIdOf } from './log/log-id.ts'
import type { PurgeKey } from './purge-key.ts'
import { PurgeLanes } from './purge-lanes.ts'
import { toGroups } from './take-locally.ts'
import { traceUrls } from './log/trace-urls.ts'

/** The purges of one environment, as the app opens them. */
export interface Purging {
  /**
   * Drops pages, from wherever that was asked: the only way. What is to be done is durable first; then the pages go here, by the fence
   * of the page store; then, in one transaction, the purges, what each reverse proxy is still to be told, and the messages that tell
   * it. So no proxy fetches from us before the page is gone here, and a crash in between leaves the intent, which is carried out
   * later. Invalidations that come together share these transactions.
   *
   * @throws INVALID_INPUT, STORE_BUSY, STORE_FULL
   */
  invalidate(invalidation: Invalidation): Promise<Invalidated>
  /** Carries out what processes began that ended over it, and records the URLs that are not recorded yet. How many invalidations. */
  catchUp(): Promise<number>
  close(): Promise<void>
}

/** How often a long-lived process looks for what others left behind, in milliseconds. */
const lookInterval = 2_000

/** No invalidation takes so long, in milliseconds: where it cannot be seen whether its process lives, it does not. */
const longestWork = 600_000

/** Opens the purges, and carries out what was intended when a process was killed. */
export async function openPurging(options: PurgingOptions): Promise<Purging> {
  const purging = new RecordedPurging(options)
  await purging.repair()
  // An object of its own functions: it may be wrapped.
  return {
    invalidate: (invalidation) => purging.invalidate(invalidation),
    catchUp: () => purging.catchUp(),
    close: () => purging.close(),
  }
}

class RecordedPurging {
  readonly #options: PurgingOptions
  readonly #lanes: PurgeLanes
  readonly #stopping = new AbortController()
  /** Invalidations that this process has in hand. */
  readonly #inHand = new Set<number>()
  /** Those that it could not carry out when it was asked to; tried again at the next look. */
  readonly #failed = new Set<number>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #timer: NodeJS.Timeout
  #looking = false

  constructor(options: PurgingOptions) {
    this.#options = options
    this.#lanes = new PurgeLanes(options, {
      onBegun: (ids) => ids.forEach((id) => this.#inHand.add(id)),
      onEnded: (ids, failed) => {
        for (const id of ids) {
          this.#inHand.delete(id)
          if (failed) this.#failed.add(id)
        }
      },
      track: (work) => this.#track(work),
    })
    this.#timer = setInterval(() => void this.#track(this.#look()), lookInterval)
    this.#timer.unref()
  }

  invalidate(invalidation: Invalidation): Promise<Invalidated> {
    return this.#track(this.#invalidate(invalidation))
  }

  async #invalidate(invalidation: Invalidation): Promise<Invalidated> {
    const { intent, pagesRemoved, tracing } = await this.#lanes.add(toPlan(invalidation))
    if (tracing) void this.#track(this.#quietly(() => this.#traceUrls(intent.id)))
    return { invalidationId: invalidationIdOf({ created_at: intent.at, id: intent.id }), pagesRemoved }
  }

  async catchUp(): Promise<number> {
    return (await this.repair()) + (await this.#traceRest(this.#options.now()))
  }

  /** Carries out intents whose process has ended, or that failed here. */
  async repair(): Promise<number> {
    const { records, owner } = this.#options
    const rows = await records.db
      .selectFrom('invalidations')
      .select(['id', 'created_at', 'source', 'soft', 'intent', 'owner', 'recorded'])
      .where('intent', 'is not', null)
      .orderBy('id')
      .execute()
    let repaired = 0
    for (const row of rows) {
      if (this.#inHand.has(row.id) || !(this.#failed.has(row.id) || this.#isLeft(row))) continue
      const { numUpdatedRows } = await records.db
        .updateTable('invalidations')
        .set({ owner: JSON.stringify(owner) })
        .where('id', '=', row.id)
        .where('intent', 'is not', null)
        .where('owner', 'is', row.owner)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) continue
      this.#inHand.add(row.id)
      try {
        const keys = JSON.parse(row.intent!) as PurgeKey[]
        const recorded = JSON.parse(row.recorded ?? '[]') as number[]
        const { id, created_at: at, source, soft } = row
        await carryOut(this.#options, {
          id,
          at,
          source,
          soft: soft !== 0,
          keys,
          groups: toGroups(keys),
          wholeDirectory: false,
          recorded,
          again: true,
        })
        this.#failed.delete(row.id)
        repaired += 1
      } finally {
        this.#inHand.delete(row.id)
      }
    }
    return repaired
  }

  #isLeft({ owner, created_at }: { owner: string | null; created_at: number }): boolean {
    const { owner: self, endedThreads = [], now } = this.#options
    if (owner === null || created_at < now() - longestWork) return true
    const other = JSON.parse(owner) as PurgeOwner
    return (
      hasEnded(other, self) ||
      (isSame(other, self) && other.thread !== undefined && endedThreads.includes(other.thread))
    )
  }

  async #look(): Promise<void> {
    if (this.#looking || this.#stopping.signal.aborted) return
    this.#looking = true
    try {
      // Whoever made an invalidation is about to record its URLs.
      await this.#quietly(
        async () => void ((await this.repair()) + (await this.#traceRest(this.#options.now() - 5 * lookInterval))),
      )
    } finally {
      this.#looking = false
    }
  }

  /** Records the URLs of invalidations from before a moment. */
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

  /** What cannot be done now is done at the next look. */
  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof PagecacheError)) throw error
    }
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }
}
