import { PagecacheError } from '../errors.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { Records } from '../records/open.ts'
import { invalidationOf } from './remove-locally.ts'

/** Lets the page store delete the pages of traces whose URLs are all recorded. If that fails, `releaseRecorded` repeats it. */
export async function release(pages: PageStore, traces: readonly number[]): Promise<void> {
  if (traces.length === 0) return
  try {
    await pages.release(traces)
  } catch (error) {
    if (!(error instanceof PagecacheError)) throw error
  }
}

/**
 * Releases every trace in the page store whose invalidation is recorded or no longer exists: those of killed processes, and those whose
 * release failed.
 *
 * @param before milliseconds since the epoch: those that were opened earlier
 */
export async function releaseRecorded(
  { records, pages }: { records: Records; pages: PageStore },
  before: number,
): Promise<void> {
  // Listed first: the invalidation of a trace is committed before the trace is opened.
  const traces = pages.unreleased(before)
  if (traces.length === 0) return
  const rows = await records.db
    .selectFrom('invalidations')
    .select('id')
    .where((where) => where.or([where('intent', 'is not', null), where('trace', 'is not', null)]))
    .execute()
  const unrecorded = new Set(rows.map(({ id }) => id))
  await release(
    pages,
    traces.filter((trace) => !unrecorded.has(invalidationOf(trace))),
  )
}
