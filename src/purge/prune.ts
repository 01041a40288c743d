import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { addToHour, dropEmptyHours, hourOf } from './rollups.ts'
import { forgetEntities, forgetPages, forgetTags } from './forget-texts.ts'

/** Purges that go in one transaction at most: some ten milliseconds. */
const slice = 100
/** Of their pages so many. */
const pageSlice = 1_000

/**
 * Makes what deletes, a slice with each call, the purges from before a moment (milliseconds since the epoch), with all that hangs
 * on them; what a reverse proxy has still to be told stays. A call tells how many rows went, of whatever table; 0: there are no more.
 *
 * @param proxies names of the configured reverse proxies
 */
export function makePrunePurges(proxies: readonly string[]): (records: Records, slice: { before: number; limit: number }) => Promise<number> {
  const pruner = new PurgePruner(proxies)
  return async (records, { before, limit }) => (await pruner.prune(records, before, Math.min(limit, slice))).rows
}

/** The same for the invalidation log: how many invalidations went; 0: there are no more. */
export async function pruneInvalidations(records: Records, { before, limit }: { before: number; limit: number }): Promise<number> {
  return records.db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('invalidations')
      .select(['id', 'created_at'])
      .where('created_at', '<', before)
      .where('intent', 'is', null)
      .where('trace', 'is', null)
      .orderBy('created_at')
      .limit(limit)
      .execute()
    if (rows.length === 0) return 0
    await transaction.deleteFrom('invalidations').where('id', 'in', rows.map((row) => row.id)).execute()
    for (const [hour, same] of Map.groupBy(rows, (row) => hourOf(row.created_at))) await addToHour(transaction, hour, { invalidations: -same.length })
    await dropEmptyHours(transaction)
    return rows.length
  })
}

/** Deletes the purge log as it is now, in slices, but for what the configured reverse proxies have still to be told. How many purges went. */
export async function clearPurges(records: Records, proxies: readonly string[]): Promise<number> {
  await records.db.updateTable('invalidations').set({ trace: null }).where('trace', 'is not', null).execute()
  const pruner = new PurgePruner(proxies)
  let deleted = 0
  for (;;) {
    const { rows, purges } = await pruner.prune(records, Number.MAX_SAFE_INTEGER, slice)
    if (rows === 0) return deleted
    deleted += purges
    await yieldToOthers()
  }
}

/** Deletes the invalidation log as it is now, in slices; what is under way stays. How many invalidations went. */
export async function clearInvalidations(records: Records): Promise<number> {
  let deleted = 0
  for (;;) {
    const rows = await pruneInvalidations(records, { before: Number.MAX_SAFE_INTEGER, limit: slice })
    if (rows === 0) return deleted
    deleted += rows
    await yieldToOthers()
  }
}

/** Purges that are looked at in one go where those before them had to stay: some milliseconds. */
const lookedAt = 1_000

/** Goes through the purges from the oldest on. What has to stay is passed once, and not by each slice again. */
class PurgePruner {
  readonly #proxies: readonly string[]
  /** The last purge of those at the beginning that stay. */
  #passed = { created_at: Number.MIN_SAFE_INTEGER, id: 0 }

  constructor(proxies: readonly string[]) {
    this.#proxies = proxies
  }

  /** One slice; `rows` of whatever table, 0 where none is left that may go. */
  async prune({ db }: Records, before: number, limit: number): Promise<{ rows: number; purges: number }> {
    for (let looked = limit; ; looked = lookedAt) {
      const made = await db.transaction().execute(async (transaction) => {
        const { found, purges } = await this.#choose(transaction, before, looked)
        return { found, ...(await removePurges(transaction, purges.slice(0, limit))) }
      })
      if (made.rows > 0 || made.found < looked) return made
      await yieldToOthers()
    }
  }

  /** Of the next purges those that may go. */
  async #choose(transaction: RecordsTransaction, before: number, looked: number): Promise<{ found: number; purges: PrunedPurge[] }> {
    const found = await transaction
      .selectFrom('purges')
      .select(['id', 'created_at', 'tag_id', 'entity_id', 'response_time'])
      .where((eb) => eb(eb.refTuple('created_at', 'id'), '>', eb.tuple(this.#passed.created_at, this.#passed.id)))
      .where('created_at', '<', before)
      .orderBy('created_at')
      .orderBy('id')
      .limit(looked)
      .execute()
    const owed = await readOwed(transaction, found.map(({ id }) => id), this.#proxies)
    const first = found.findIndex(({ id }) => !owed.has(id))
    const passed = first < 0 ? found.at(-1) : found[first - 1]
    if (passed !== undefined) this.#passed = { created_at: passed.created_at, id: passed.id }
    return { found: found.length, purges: found.filter(({ id }) => !owed.has(id)) }
  }
}

/** Which of these purges a proxy has still to be told: they wait, or were given up for one that is still configured. */
async function readOwed(transaction: RecordsTransaction, ids: readonly number[], proxies: readonly string[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const rows = await transaction.selectFrom('purge_deliveries').select(['purge_id', 'proxy', 'status']).where('purge_id', 'in', ids).where('status', '!=', 'delivered').execute()
  return new Set(rows.filter(({ proxy, status }) => status === 'pending' || proxies.includes(proxy)).map((row) => row.purge_id))
}

interface PrunedPurge {
  id: number
  created_at: number
  tag_id: number | null
  entity_id: number | null
  response_time: number | null
}

async function removePurges(transaction: RecordsTransaction, purges: readonly PrunedPurge[]): Promise<{ rows: number; purges: number }> {
  if (purges.length === 0) return { rows: 0, purges: 0 }
  const ids = purges.map((purge) => purge.id)
  const pages = await transaction.selectFrom('purge_pages').selectAll().where('purge_id', 'in', ids).orderBy('purge_id').limit(pageSlice).execute()
  await forgetPages(transaction, pages)
  // A purge goes with the last of its pages.
  if (pages.length === pageSlice) return { rows: pages.length, purges: 0 }
  await transaction.deleteFrom('purge_deliveries').where('purge_id', 'in', ids).execute()
  await transaction.deleteFrom('purges').where('id', 'in', ids).execute()
  await forgetTags(transaction, purges)
  await forgetEntities(transaction, purges)
  for (const [hour, same] of Map.groupBy(purges, (purge) => hourOf(purge.created_at))) {
    const times = same.flatMap((purge) => purge.response_time ?? [])
    await addToHour(transaction, hour, { purges: -same.length, responses: -times.length, responseTime: -times.reduce((sum, time) => sum + time, 0) })
  }
  await dropEmptyHours(transaction)
  return { rows: pages.length + purges.length, purges: purges.length }
}
