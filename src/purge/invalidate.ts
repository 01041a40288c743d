import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore, Selection } from '../pages/page-store.ts'
import type { Queue } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'
import { invalidationIdOf } from './log-id.ts'
import { describeTargets, toKeys, type PurgeKey } from './purge-key.ts'
import { recordPurges, type KeyResult } from './record-purges.ts'
import { addToHour, hourOf } from './rollups.ts'

export interface PurgingOptions {
  records: Records
  pages: PageStore
  queue: Pick<Queue, 'dispatch'>
  /** The wall clock, in milliseconds since the epoch. */
  now: () => number
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
}

/** Removes everything in another way than through the page store; resolves to the number of pages. */
export type TakeAll = () => Promise<number>

/** Purges recorded in one transaction: some milliseconds. */
const slice = 200

/**
 * Drops pages, from wherever that was asked: the only way. What is to be done is durable first; then the pages go here, by the
 * fence of the page store; then, in one transaction, the purges, what each reverse proxy is still to be told, and the messages
 * that tell it. So no proxy fetches from us before the page is gone here, and a crash in between leaves the intent.
 *
 * @throws INVALID_INPUT, STORE_BUSY, STORE_FULL
 */
export async function invalidate(options: PurgingOptions, invalidation: Invalidation, takeAll?: TakeAll): Promise<Invalidated> {
  const { records, now } = options
  const keys = toKeys(invalidation.targets)
  const at = now()
  const id = await intend(records, invalidation, keys, at)
  const started = performance.now()
  const results = takeAll === undefined ? await takeLocally(options.pages, keys) : [{ key: keys[0]!, pagesRemoved: await takeAll() }]
  const localTime = performance.now() - started
  await record(options, { id, at, localTime }, invalidation, results)
  const pagesRemoved = results.reduce((sum, result) => sum + result.pagesRemoved, 0)
  return { invalidationId: invalidationIdOf({ created_at: at, id }), pagesRemoved }
}

async function intend(records: Records, invalidation: Invalidation, keys: readonly PurgeKey[], at: number): Promise<number> {
  const { soft, source, actor, targets } = invalidation
  return records.db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto('invalidations')
      .values({
        ...{ created_at: at, source, actor, ...describeTargets(targets), soft: Number(soft) },
        ...{ intent: JSON.stringify({ keys }), owner: null, recorded: null, trace: null },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await addToHour(transaction, hourOf(at), { invalidations: 1 })
    return id
  })
}

async function takeLocally(pages: PageStore, keys: readonly PurgeKey[]): Promise<KeyResult[]> {
  const results: KeyResult[] = []
  for (const key of keys) results.push({ key, pagesRemoved: await pages.remove(toSelection(key)) })
  return results
}

function toSelection(key: PurgeKey): Selection {
  switch (key.kind) {
    case 'all':
    case 'pattern':
      return { kind: 'all' }
    case 'type':
      return { kind: 'type', type: key.type }
    case 'url':
      return { kind: 'urls', urls: [key.url] }
    case 'tag':
    case 'entity':
      return { kind: 'tags', tags: [key.tag] }
  }
}

async function record(
  { records, queue, proxies }: PurgingOptions,
  { id, at, localTime }: { id: number; at: number; localTime: number },
  { source, soft }: Invalidation,
  results: readonly KeyResult[],
): Promise<void> {
  for (let first = 0; first < results.length; first += slice) {
    const some = results.slice(first, first + slice)
    const isLast = first + slice >= results.length
    await records.db.transaction().execute(async (transaction) => {
      await recordPurges(transaction, { invalidationId: id, at, source, soft, queue, proxies, localTime }, some)
      const removed = some.reduce((sum, result) => sum + result.pagesRemoved, 0)
      await transaction
        .updateTable('invalidations')
        .set((eb) => ({ pages_removed: eb('pages_removed', '+', removed), ...(isLast && { intent: null, owner: null }) }))
        .where('id', '=', id)
        .execute()
    })
    if (!isLast) await yieldToOthers()
  }
}
