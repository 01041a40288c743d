import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/plural.ts'
import type { PageStore, SharedRemoval, SharedRemoved } from '../pages/page-store.ts'
import type { Done, Intent, Plan, PurgingOptions } from './intent.ts'
import { addIntents, recordSlice, recordWhole } from './record-invalidations.ts'
import { countTaken, takeLocally, traceOf } from './take-locally.ts'

/** What came of an intent. `tracing`: its URLs are not all recorded yet. */
export interface Carried {
  pagesRemoved: number
  tracing: boolean
}

/**
 * Makes invalidations durable, before a page goes. Where they cannot be recorded, their pages go here at least: visitors of this cache
 * come before the log; the error says what was done.
 * @throws STORE_BUSY, STORE_FULL
 */
export async function intend(options: PurgingOptions, plans: readonly Plan[]): Promise<Intent[]> {
  const at = options.now()
  const ids = await options.records.db
    .transaction()
    .execute((transaction) => addIntents(transaction, { at, owner: options.owner }, plans))
  return plans.map(({ invalidation, keys, groups }, index) => ({
    ...{ id: ids[index]!, at, source: invalidation.source, soft: invalidation.soft, keys, groups },
    ...{ wholeDirectory: invalidation.wholeDirectory === true, recorded: [], again: false },
  }))
}

/** What cannot be recorded is gone here at least: visitors of this cache come before the log. Returns the error with what was done. */
export async function takeUnrecorded(
  { pages, clearDirectory }: PurgingOptions,
  { invalidation, keys, groups }: Plan,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof PagecacheError)) return error
  const whole = invalidation.wholeDirectory === true
  const counts = await takeLocally(pages, groups, {
    soft: invalidation.soft,
    count: keys.length,
    invalidation: null,
    clearDirectory: whole ? clearDirectory : null,
  })
  return new PagecacheError(
    error.code,
    `The purge could not be recorded: ${error.message}. It took ${plural(sum(counts), 'page')} here; reverse proxies were not told, so it has to be repeated`,
    {
      ...(error.hint !== null && { hint: error.hint }),
      cause: error,
    },
  )
}

/** Does what is intended: the pages here, then the log and the messages, in slices. Done twice, it does no harm. */
export async function carryOut(options: PurgingOptions, intent: Intent): Promise<Carried> {
  const { pages, records, clearDirectory } = options
  const { keys, groups, soft } = intent
  const started = performance.now()
  const taken = await takeLocally(pages, groups, {
    count: keys.length,
    invalidation: intent.id,
    soft,
    clearDirectory: intent.wholeDirectory ? clearDirectory : null,
  })
  const counts = intent.again ? await countTaken(pages, groups, { count: keys.length, invalidation: intent.id }) : taken
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
 * Takes the pages of small intents here, several in a transaction. Of those that select more pages than fit `counts` is null: they are
 * left to `carryOut`.
 */
export async function takeTogether(
  { pages }: Pick<PurgingOptions, 'pages'>,
  intents: readonly Intent[],
): Promise<(Done | null)[]> {
  const started = performance.now()
  const removals: SharedRemoval[] = intents.flatMap(({ id, soft, groups }) =>
    groups.map(({ selection }, number) => ({
      selection: selection as SharedRemoval['selection'],
      soft,
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

/** Records, in one transaction, small invalidations whose pages are gone. */
export async function recordTogether(options: PurgingOptions, done: readonly Done[]): Promise<Carried[]> {
  const traces = await options.records.db
    .transaction()
    .execute((transaction) => recordWhole(transaction, options, done))
  return done.map(({ counts }, index) => ({ pagesRemoved: sum(counts), tracing: traces[index] !== null }))
}

/** The page store may clean away what invalidations took whose URLs are all recorded. What cannot be released now is so by the nightly sweep. */
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
