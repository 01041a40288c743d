import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/format.ts'
import type { PageStore, SharedRemoval, SharedRemoved } from '../pages/page-store.ts'
import type { LocallyDone, Intent, Plan, PurgingOptions } from './intent.ts'
import { addIntents, recordSlice, recordWhole } from './record-invalidations.ts'
import { countRemoved, removeLocally, traceOf } from './remove-locally.ts'

/** The result of an intent. */
export interface CarriedOut {
  pagesRemoved: number
  /** Whether URLs of removed pages are still to be recorded. */
  tracing: boolean
}

/** Records invalidations durably before any page is removed. @throws STORE_BUSY, STORE_FULL */
export async function recordIntents(options: PurgingOptions, plans: readonly Plan[]): Promise<Intent[]> {
  const at = options.now()
  const ids = await options.records.db
    .transaction()
    .execute((transaction) => addIntents(transaction, { at, owner: options.owner }, plans))
  return plans.map(({ invalidation, keys, groups }, index) => ({
    id: ids[index]!,
    at,
    source: invalidation.source,
    soft: invalidation.soft,
    keys,
    groups,
    wholeDirectory: invalidation.wholeDirectory === true,
    recorded: [],
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
  const done = { intent, counts, localTime: performance.now() - started }
  let ids = intent.recorded
  let tracing = false
  while (ids.length < keys.length) {
    ;({ ids, tracing } = await records.db
      .transaction()
      .execute((transaction) => recordSlice(transaction, options, done, ids)))
    if (ids.length < keys.length) await yieldToOthers()
  }
  if (!tracing) await releaseAll(pages, [intent])
  return { pagesRemoved: sum(counts), tracing }
}

/**
 * Removes the pages of small intents here, several in one transaction. The result is null for an intent that selects more pages than
 * fit: `carryOut` removes the rest.
 */
export async function removeTogether(
  { pages }: Pick<PurgingOptions, 'pages'>,
  intents: readonly Intent[],
): Promise<(LocallyDone | null)[]> {
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
    const counts = intent.keys.map(() => 0)
    for (const [number, { keys }] of intent.groups.entries())
      for (const [index, key] of keys.entries()) counts[key] = own[number]!.counts[index]!
    return { intent, counts, localTime }
  })
}

/** Records, in one transaction, small invalidations whose pages are removed. */
export async function recordTogether(options: PurgingOptions, done: readonly LocallyDone[]): Promise<CarriedOut[]> {
  const traces = await options.records.db
    .transaction()
    .execute((transaction) => recordWhole(transaction, options, done))
  return done.map(({ counts }, index) => ({ pagesRemoved: sum(counts), tracing: traces[index] !== null }))
}

/** Lets the page store delete the traces of intents whose URLs are all recorded. If that fails, the nightly sweep deletes them. */
export async function releaseAll(pages: PageStore, intents: readonly Intent[]): Promise<void> {
  const traces = intents.flatMap(({ id, groups }) => groups.map((_, number) => traceOf(id, number)))
  if (traces.length === 0) return
  try {
    await pages.release(traces)
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}
