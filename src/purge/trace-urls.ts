import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore, Taken } from '../pages/page-store.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { findUrls, notePages } from './log-texts.ts'
import { traceOf, type Group } from './take-locally.ts'

/** URLs that are recorded in one transaction: some ten milliseconds. */
const slice = 500

/** A removal whose URLs are still to be read, and the purges that its values are. */
interface OpenTrace {
  trace: number
  purges: number[]
}

/**
 * Records which URLs an invalidation took: at once where they are few, else as far as one slice goes. Returns what is left, to be
 * kept in the invalidation's row; null where that was all: then the removals may be released once that is committed.
 */
export async function beginTrace(
  transaction: RecordsTransaction,
  pages: PageStore,
  { id, at, groups, purges }: { id: number; at: number; groups: readonly Group[]; purges: readonly number[] },
): Promise<string | null> {
  const traces = groups.map((group, number) => ({ trace: traceOf(id, number), purges: group.keys.map((key) => purges[key]!) }))
  const left: OpenTrace[] = []
  for (const open of traces) {
    const taken = await pages.taken(open.trace, 0, slice)
    await note(transaction, open, taken, at)
    if (taken.length === slice) left.push(open)
  }
  return left.length === 0 ? null : JSON.stringify(left)
}

/** Purges that have left the log meanwhile leave no URLs in it. */
async function note(transaction: RecordsTransaction, { purges }: OpenTrace, taken: readonly Taken[], at: number): Promise<void> {
  if (taken.length === 0) return
  const named = [...new Set(taken.map((page) => purges[page.value]!))]
  const rows = await transaction.selectFrom('purges').select('id').where('id', 'in', named).execute()
  const logged = new Set(rows.map((row) => row.id))
  const pages = taken.filter((page) => logged.has(purges[page.value]!))
  const urls = await findUrls(transaction, pages.map((page) => page.url))
  await notePages(transaction, pages.map((page) => ({ url: urls.get(page.url)!, purge: purges[page.value]! })), at)
}

/**
 * Records, a slice after the other, the URLs that an invalidation took, and lets the page store clean them away. What another
 * process has done of it already is not done twice. Stops when `stop` is aborted or the pages cannot be read.
 */
export async function traceUrls({ records, pages }: { records: Records; pages: PageStore }, id: number, stop: AbortSignal): Promise<void> {
  for (;;) {
    const row = await records.db.selectFrom('invalidations').select(['created_at', 'trace', 'traced']).where('id', '=', id).executeTakeFirst()
    if (row === undefined || row.trace === null) return
    const traces = JSON.parse(row.trace) as OpenTrace[]
    const [open, ...others] = traces
    if (open === undefined) return
    if (stop.aborted || pages.fault() !== null) return
    const taken = await pages.taken(open.trace, row.traced, slice)
    if (pages.fault() !== null) return
    const isDone = taken.length < slice
    await records.db.transaction().execute(async (transaction) => {
      const next = isDone ? { trace: others.length === 0 ? null : JSON.stringify(others), traced: 0 } : { traced: taken.at(-1)!.id }
      const { numUpdatedRows } = await transaction
        .updateTable('invalidations')
        .set(next)
        .where('id', '=', id)
        .where('traced', '=', row.traced)
        .where('trace', '=', row.trace)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 1n) await note(transaction, open, taken, row.created_at)
    })
    if (isDone) await pages.release(open.trace)
    await yieldToOthers()
  }
}
