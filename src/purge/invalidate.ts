import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/format.ts'
import type { Numbered } from '../cluster/purge-cluster.ts'
import type { SharedRemoval, SharedRemoved } from '../pages/page-store.ts'
import { lockingTransaction } from '../records/locks.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { confirmEverywhere, sum, type DoneEverywhere } from './everywhere.ts'
import type { Intent, Plan, PurgingOptions, RemovedTogether } from './intent.ts'
import type { NodeShare } from './invalidation.ts'
import { addIntents, recordSlice, recordWhole } from './record-invalidations.ts'
import { release } from './release.ts'
import { countRemoved, removeLocally, toRemovals, traceOf, tracesOf } from './remove-locally.ts'

/** The result of an intent. */
export interface CarriedOut {
  pagesRemoved: number
  /** Sums by node; null with one machine. */
  nodes: NodeShare[] | null
  /** Whether URLs of removed pages are still to be recorded. */
  tracing: boolean
  /** Nodes that may still serve the pages without a lease. */
  unconfirmed: string[]
}

/** Records invalidations durably before any page is removed. @throws STORE_BUSY, STORE_FULL */
export async function recordIntents(options: PurgingOptions, plans: readonly Plan[]): Promise<Intent[]> {
  const at = options.now()
  const { cluster = null, owner } = options
  const add = (transaction: RecordsTransaction) => addIntents(transaction, { at, owner }, plans)
  const { db } = options.records
  let ids: readonly number[]
  let clocks: readonly Numbered[] | null = null
  if (cluster === null) ids = await db.transaction().execute(add)
  else
    // It reads nothing that it writes, and would otherwise be repeated because of other nodes' purges.
    [ids, clocks] = await lockingTransaction(db).execute(async (open) => {
      const added = await add(open)
      const purges = plans.map((plan, index) => ({ invalidation: added[index]!, removals: toRemovals(plan) }))
      return [added, await cluster.append(open, at, purges)] as const
    })
  return plans.map(({ invalidation, keys, groups }, index) => ({
    id: ids[index]!,
    at,
    source: invalidation.source,
    soft: invalidation.soft,
    keys,
    groups,
    wholeDirectory: invalidation.wholeDirectory === true,
    recorded: [],
    clock: clocks?.[index] ?? null,
    again: false,
  }))
}

/**
 * Removes the pages of an invalidation that could not be recorded: visitors of this cache matter more than the log. Returns the error,
 * extended by what was removed.
 */
export async function removeUnrecorded(
  { pages, clearDirectory }: PurgingOptions,
  { invalidation, keys, groups }: Plan,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof PagecacheError)) return error
  const whole = invalidation.wholeDirectory === true
  const counts = await removeLocally(pages, groups, {
    soft: invalidation.soft,
    count: keys.length,
    invalidation: null,
    clearDirectory: whole ? clearDirectory : null,
  })
  return new PagecacheError(
    error.code,
    `Could not record the purge: ${error.message}. It removed ${plural(sum(counts), 'page')} here, but no reverse proxy will receive it: repeat it`,
    {
      ...(error.hint !== null && { hint: error.hint }),
      cause: error,
    },
  )
}

/** Carries out an intent: removes the pages here, then records the purges and their messages in slices. It is safe to repeat. */
export async function carryOut(options: PurgingOptions, intent: Intent): Promise<CarriedOut> {
  const { pages, records, clearDirectory } = options
  const { keys, groups, soft } = intent
  const started = performance.now()
  const removed = await removeLocally(pages, groups, {
    count: keys.length,
    invalidation: intent.id,
    soft,
    clearDirectory: intent.wholeDirectory ? clearDirectory : null,
  })
  const counts = intent.again
    ? await countRemoved(pages, groups, { count: keys.length, invalidation: intent.id })
    : removed
  const [done] = await confirmEverywhere(options, [{ intent, counts, localTime: performance.now() - started }])
  let ids = intent.recorded
  let tracing = false
  while (ids.length < keys.length) {
    ;({ ids, tracing } = await records.db
      .transaction()
      .execute((transaction) => recordSlice(transaction, options, done!, ids)))
    if (ids.length < keys.length) await yieldToOthers()
  }
  if (!tracing) await release(pages, tracesOf(intent))
  return toResult(done!, tracing)
}

/**
 * Removes the pages of small intents here, several in one transaction. The result is null for an intent that selects more pages than
 * fit: `carryOut` removes the rest.
 */
export async function removeTogether(
  { pages }: Pick<PurgingOptions, 'pages'>,
  intents: readonly Intent[],
): Promise<(RemovedTogether | null)[]> {
  const started = performance.now()
  const removals: SharedRemoval[] = intents.flatMap(({ id, soft, groups }) =>
    groups.map(({ selection, soft: softened }, number) => ({
      selection: selection as SharedRemoval['selection'],
      soft: softened || soft,
      trace: traceOf(id, number),
    })),
  )
  const removed: SharedRemoved[] = []
  while (removed.length < removals.length) {
    removed.push(...(await pages.removeTogether(removals.slice(removed.length))))
    if (removed.length < removals.length) await yieldToOthers()
  }
  const localTime = performance.now() - started
  return intents.map((intent) => {
    const own = removed.splice(0, intent.groups.length)
    if (own.some(({ isWhole }) => !isWhole)) return null
    const urls: (readonly string[])[] = intent.keys.map(() => [])
    for (const [number, { keys }] of intent.groups.entries())
      for (const [index, key] of keys.entries()) urls[key] = own[number]!.urls[index]!
    return { intent, counts: urls.map(({ length }) => length), urls, localTime }
  })
}

/** Records, in one transaction, small invalidations whose pages are removed. */
export async function recordTogether(
  options: PurgingOptions,
  removed: readonly RemovedTogether[],
): Promise<CarriedOut[]> {
  const done = await confirmEverywhere(options, removed)
  await options.records.db.transaction().execute((transaction) => recordWhole(transaction, options, done))
  return done.map((each) => toResult(each, false))
}

function toResult({ everywhere, nodes, unconfirmed }: DoneEverywhere, tracing: boolean): CarriedOut {
  return { pagesRemoved: sum(everywhere), nodes, tracing, unconfirmed }
}
