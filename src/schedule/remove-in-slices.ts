import type { Timing } from '../lib/timing.ts'
import { isUnavailable } from '../records/faults.ts'
import type { Records } from '../records/open.ts'

/** Deletes one slice of what is from before a moment (milliseconds since the epoch); how many rows went, 0 when there are no more. */
export type RemoveSlice = (records: Records, slice: { before: number; limit: number }) => Promise<number>

/** How long a slice should hold the records (milliseconds). */
const sliceTime = 4
/** Between two slices others have the records to themselves for so many times as long as the slice took. */
const pauseFactor = 2
const leastPause = 5
const leastLimit = 10
const mostLimit = 2000

/**
 * Deletes slice by slice, however much there is, in slices that hold the records for a few milliseconds each: their
 * size follows from how long the last one took. How many rows went; `done` is false where it was stopped before the end.
 */
export async function removeInSlices(
  removeSlice: RemoveSlice,
  options: { records: Records; before: number; timing: Timing; stop: AbortSignal },
): Promise<{ removed: number; done: boolean }> {
  const { records, before, timing, stop } = options
  let removed = 0
  let limit = 100
  while (!stop.aborted) {
    const started = timing.now()
    try {
      const rows = await removeSlice(records, { before, limit })
      if (rows === 0) return { removed, done: true }
      removed += rows
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
    const took = timing.now() - started
    limit = nextLimit(limit, took)
    await timing.sleep(Math.max(leastPause, pauseFactor * took), stop)
  }
  return { removed, done: false }
}

/** Rows for the next slice, after one of `limit` rows took `took` milliseconds: never more than doubled by one that was fast. */
export function nextLimit(limit: number, took: number): number {
  const fitting = took > 0 ? (limit * sliceTime) / took : limit * 2
  return Math.round(Math.min(mostLimit, limit * 2, Math.max(leastLimit, fitting)))
}
