import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore, Taken } from '../../pages/page-store.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { findUrls, notePages } from './log-texts.ts'
import { traceOf, type Group } from '../take-locally.ts'

/** URLs that are recorded in one transaction: some ten milliseconds. */
const slice = 500

/** A removal whose URLs are still to be read, and the purges that its values are. */
interface OpenTrace {
  trace: number
  purges: number[]
}

/** An invalidation whose purges are recorded. `purges`: their numbers, in the order of its keys. */
export interface Traced {
  id: number
  groups: readonly Group[]
  purges: readonly number[]
}

/**
 * Records which URLs invalidations of one moment took: at once where they are few, else as far as one slice goes. Returns of each what
 * is left, to be kept in its row; null where that was all: then its removals may be released once that is committed.
 */
export async function beginTraces(
  transaction: RecordsTransaction,
  pages: PageStore,
  at: number,
  invalidations: readonly Traced[],
): Promise<(string | null)[]> {
  const found: TakenBy[] = []
  const rest: (string | null)[] = []
  for (const { id, groups, purges } of invalidations) {
    const left: OpenTrace[] = []
    for (const [number, { keys }] of groups.entries()) {
      const open = { trace: traceOf(id, number), purges: keys.map((key) => purges[key]!) }
      const taken = await pages.taken(open.trace, 0, slice)
      found.push({ open, taken })
      if (taken.length === slice) left.push(open)
    }
    rest.push(left.length === 0 ? null : JSON.stringify(left))
  }
  await note(transaction, found, at)
  return rest
}

interface TakenBy {
  open: OpenTrace
  taken: readonly Taken[]
}

/** Purges that have left the log meanwhile leave no URLs in it. */
async function note(transaction: RecordsTransaction, found: readonly TakenBy[], at: number): Promise<void> {
  const taken = found.flatMap(({ open, taken }) =>
    taken.map((page) => ({ url: page.url, purge: open.purges[page.value]! })),
  )
  if (taken.length === 0) return
  const named = [...new Set(taken.map(({ purge }) => purge))]
  const rows = await transaction.selectFrom('purges').select('id').where('id', 'in', named).execute()
  const logged = new Set(rows.map((row) => row.id))
  const pages = taken.filter(({ purge }) => logged.has(purge))
  const urls = await findUrls(
    transaction,
    pages.map(({ url }) => url),
  )
  await notePages(
    transaction,
    pages.map(({ url, purge }) => ({ url: urls.get(url)!, purge })),
    at,
  )
}

/**
 * Records, a slice after the other, the URLs that an invalidation took, and lets the page store clean them away. What another
 * process has done of it already is not done twice. Stops when `stop` is aborted or the pages cannot be read.
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
    if (stop.aborted || pages.fault() !== null) return
    const taken = await pages.taken(open.trace, row.traced, slice)
    if (pages.fault() !== null) return
    const isDone = taken.length < slice
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
      if (numUpdatedRows === 1n) await note(transaction, [{ open, taken }], row.created_at)
    })
    if (isDone) await pages.release([open.trace])
    await yieldToOthers()
  }
}
