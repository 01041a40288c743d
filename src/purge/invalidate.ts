import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/plural.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { ProcessIdentity } from '../queue/process-identity.ts'
import type { Queue } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'
import { invalidationIdOf } from './log-id.ts'
import { describeTargets, toKeys, type PurgeKey } from './purge-key.ts'
import { recordPurges } from './record-purges.ts'
import { addToHour, hourOf } from './rollups.ts'
import { countTaken, takeLocally, toGroups, traceOf, type Group, type TakeAll } from './take-locally.ts'
import { beginTrace } from './trace-urls.ts'

export interface PurgingOptions {
  records: Records
  pages: PageStore
  queue: Pick<Queue, 'dispatch'>
  /** The wall clock, in milliseconds since the epoch. */
  now: () => number
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
  /** This process, as the owner of what it has begun. */
  owner: ProcessIdentity
}

/** Purges recorded in one transaction: some milliseconds. */
const slice = 200

/** An invalidation that is durable and still to be done. */
export interface Intent {
  id: number
  at: number
  source: string
  soft: boolean
  keys: readonly PurgeKey[]
  /** Purges of the first keys, which are recorded already. */
  recorded: readonly number[]
  /** Whether a process has begun with it before, and may have taken pages already. */
  again: boolean
}

/**
 * Drops pages, from wherever that was asked: the only way. What is to be done is durable first; then the pages go here, by the
 * fence of the page store; then, in one transaction, the purges, what each reverse proxy is still to be told, and the messages
 * that tell it. So no proxy fetches from us before the page is gone here, and a crash in between leaves the intent, which
 * whoever comes next carries out (src/purge/purging.ts).
 *
 * @throws INVALID_INPUT, STORE_BUSY, STORE_FULL
 */
export async function invalidate(
  options: PurgingOptions,
  invalidation: Invalidation,
  takeAll: TakeAll | null,
  onIntent: (id: number) => void,
): Promise<Invalidated & { id: number; tracing: boolean }> {
  const keys = toKeys(invalidation.targets)
  assertSoft(invalidation.soft, keys)
  const groups = toGroups(keys)
  const at = options.now()
  let id: number
  try {
    id = await intend(options, invalidation, keys, at)
  } catch (error) {
    throw await takeUnrecorded(options.pages, groups, { soft: invalidation.soft, count: keys.length, takeAll }, error)
  }
  onIntent(id)
  const { source, soft } = invalidation
  const { pagesRemoved, tracing } = await carryOut(options, { id, at, source, soft, keys, recorded: [], again: false }, groups, takeAll)
  return { id, tracing, invalidationId: invalidationIdOf({ created_at: at, id }), pagesRemoved }
}

function assertSoft(soft: boolean, keys: readonly PurgeKey[]): void {
  if (!soft || keys.every((key) => key.kind === 'url' || key.kind === 'tag' || key.kind === 'entity')) return
  throw new PagecacheError('INVALID_INPUT', 'soft: only URLs, tags and entities can be purged softly')
}

/** What cannot be recorded is gone here at least: visitors of this cache come before the log. Returns the error with what was done. */
async function takeUnrecorded(pages: PageStore, groups: readonly Group[], options: { soft: boolean; count: number; takeAll: TakeAll | null }, error: unknown): Promise<unknown> {
  if (!(error instanceof PagecacheError)) return error
  const counts = await takeLocally(pages, groups, { ...options, invalidation: null })
  const removed = counts.reduce((sum, count) => sum + count, 0)
  return new PagecacheError(error.code, `The purge could not be recorded: ${error.message}. It took ${plural(removed, 'page')} here; reverse proxies were not told, so it has to be repeated`, {
    ...(error.hint !== null && { hint: error.hint }),
    cause: error,
  })
}

async function intend({ records, owner }: PurgingOptions, invalidation: Invalidation, keys: readonly PurgeKey[], at: number): Promise<number> {
  const { soft, source, actor, targets } = invalidation
  return records.db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto('invalidations')
      .values({
        ...{ created_at: at, source, actor, ...describeTargets(targets), soft: Number(soft) },
        ...{ intent: JSON.stringify(keys), owner: JSON.stringify(owner), recorded: null, trace: null },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await addToHour(transaction, hourOf(at), { invalidations: 1 })
    return id
  })
}

/** Does what is intended: the pages here, then the log and the messages. Returns the number of pages. Done twice, it does no harm. */
export async function carryOut(options: PurgingOptions, intent: Intent, groups: readonly Group[], takeAll: TakeAll | null): Promise<{ pagesRemoved: number; tracing: boolean }> {
  const { pages, records } = options
  const started = performance.now()
  const taken = await takeLocally(pages, groups, { count: intent.keys.length, invalidation: intent.id, soft: intent.soft, takeAll })
  const counts = intent.again ? await countTaken(pages, groups, { count: intent.keys.length, invalidation: intent.id }) : taken
  const localTime = performance.now() - started
  let ids = intent.recorded
  let tracing = false
  while (ids.length < intent.keys.length) {
    const progress = { counts, ids, groups, localTime }
    const recorded = await records.db.transaction().execute((transaction) => recordSlice(transaction, options, intent, progress))
    ;({ ids, tracing } = recorded)
    if (ids.length < intent.keys.length) await yieldToOthers()
  }
  if (!tracing) await releaseAll(pages, intent.id, groups)
  return { pagesRemoved: counts.reduce((sum, count) => sum + count, 0), tracing }
}

/** The page store may clean away what an invalidation took, whose URLs are all recorded. What cannot be released now is so by the nightly sweep. */
async function releaseAll(pages: PageStore, id: number, groups: readonly Group[]): Promise<void> {
  try {
    for (const number of groups.keys()) await pages.release(traceOf(id, number))
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
  }
}

interface Progress {
  counts: readonly number[]
  /** Of the purges that are recorded. */
  ids: readonly number[]
  groups: readonly Group[]
  localTime: number
}

async function recordSlice(transaction: RecordsTransaction, options: PurgingOptions, intent: Intent, { counts, ids, groups, localTime }: Progress): Promise<{ ids: readonly number[]; tracing: boolean }> {
  const { queue, proxies, pages } = options
  const { id, at, source, soft, keys } = intent
  const first = ids.length
  const results = keys.slice(first, first + slice).map((key, index) => ({ key, pagesRemoved: counts[first + index]! }))
  const made = await recordPurges(transaction, { invalidationId: id, at, source, soft, queue, proxies, localTime }, results)
  const all = [...ids, ...made]
  const isLast = all.length === keys.length
  const trace = isLast ? await beginTrace(transaction, pages, { id, at, groups, purges: all }) : null
  const removed = results.reduce((sum, result) => sum + result.pagesRemoved, 0)
  await transaction
    .updateTable('invalidations')
    .set((eb) => ({
      pages_removed: eb('pages_removed', '+', removed),
      ...(isLast ? { intent: null, owner: null, recorded: null, trace } : { recorded: JSON.stringify(all) }),
    }))
    .where('id', '=', id)
    .execute()
  return { ids: all, tracing: trace !== null }
}
