import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore, Taken } from '../../pages/page-store.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { addPurgedPages } from './name-rows.ts'
import { traceOf, type Group } from '../remove-locally.ts'

/** Most URLs recorded in one transaction, which then takes about ten milliseconds. */
const sliceSize = 500

/** A removal whose URLs are not all recorded. */
interface OpenTrace {
  trace: number
  /** Row numbers of the purges, by index of the removal's values. */
  purges: number[]
}

/** An invalidation whose purges are recorded. */
export interface Traced {
  id: number
  groups: readonly Group[]
  /** Row numbers of the purges, in the order of the keys. */
  purges: readonly number[]
}

/**
 * Records the first slice of URLs that an invalidation removed. Returns the remaining traces, to be saved in its row; null if all URLs
 * are recorded: then its traces may be released after the commit.
 */
export async function beginTraces(
  transaction: RecordsTransaction,
  pages: PageStore,
  at: number,
  { id, groups, purges }: Traced,
): Promise<string | null> {
  const found: TakenBy[] = []
  const left: OpenTrace[] = []
  for (const [number, { keys }] of groups.entries()) {
    const open = { trace: traceOf(id, number), purges: keys.map((key) => purges[key]!) }
    const taken = await pages.taken(open.trace, 0, sliceSize)
    if (taken !== null) found.push({ open, taken })
    if (taken === null || taken.length === sliceSize) left.push(open)
  }
  await addPurgedPages(transaction, await loggedOf(transaction, found.flatMap(pagesOf)), at)
  return left.length === 0 ? null : JSON.stringify(left)
}

interface TakenBy {
  open: OpenTrace
  taken: readonly Taken[]
}

function pagesOf({ open, taken }: TakenBy): { url: string; purge: number }[] {
  return taken.map((page) => ({ url: page.url, purge: open.purges[page.value]! }))
}

/** The pages without those of purges that were deleted from the log in the meantime. */
async function loggedOf(
  transaction: RecordsTransaction,
  pages: readonly { url: string; purge: number }[],
): Promise<{ url: string; purge: number }[]> {
  if (pages.length === 0) return []
  const named = [...new Set(pages.map(({ purge }) => purge))]
  const rows = await transaction.selectFrom('purges').select('id').where('id', 'in', named).execute()
  const logged = new Set(rows.map((row) => row.id))
  return pages.filter(({ purge }) => logged.has(purge))
}

/**
 * Records the remaining URLs of an invalidation slice by slice and releases its traces in the page store. Slices that another process
 * has recorded are skipped. Stops when `stop` is aborted or the page store cannot be read; the traces that are left are recorded later,
 * so that no purge is missing from the flow of a page.
 */
export async function traceUrls(
  { records, pages }: { records: Records; pages: PageStore },
  id: number,
  stop: AbortSignal,
): Promise<void> {
  for (;;) {
    const row = await records.db
      .selectFrom('invalidations')
      .select(['created_at', 'trace', 'traced'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (row === undefined || row.trace === null) return
    const traces = JSON.parse(row.trace) as OpenTrace[]
    const [open, ...others] = traces
    if (open === undefined) return
    if (stop.aborted) return
    const taken = await pages.taken(open.trace, row.traced, sliceSize)
    if (taken === null) return
    const isDone = taken.length < sliceSize
    await records.db.transaction().execute(async (transaction) => {
      const next = isDone
        ? { trace: others.length === 0 ? null : JSON.stringify(others), traced: 0 }
        : { traced: taken.at(-1)!.id }
      const { numUpdatedRows } = await transaction
        .updateTable('invalidations')
        .set(next)
        .where('id', '=', id)
        .where('traced', '=', row.traced)
        .where('trace', '=', row.trace)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) return
      await addPurgedPages(transaction, await loggedOf(transaction, pagesOf({ open, taken })), row.created_at)
    })
    if (isDone) await pages.release([open.trace])
    await yieldToOthers()
  }
}
