import type { Timing } from '../lib/timing.ts'
import { isUnavailable } from '../records/errors.ts'
import type { Records } from '../records/open.ts'

/** Deletes one slice of the rows from before a time (milliseconds since the epoch). Returns the number of deleted rows, 0 if none is left. */
export type RemoveSlice = (records: Records, slice: { before: number; limit: number }) => Promise<number>

/** How long one slice should hold the write lock (milliseconds). */
const targetTime = 4
/** The pause between two slices, as a multiple of the duration of the last slice: other processes get the lock. */
const pauseFactor = 2
/** Milliseconds. */
const minPause = 5
/** Rows of one slice. */
const minLimit = 10
const maxLimit = 2000

/**
 * Deletes all old rows in slices that hold the write lock for a few milliseconds each; the duration of a slice decides the size of the
 * next one. Returns the number of deleted rows; `done` is false if `stop` was aborted first.
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
    await timing.sleep(Math.max(minPause, pauseFactor * took), stop)
  }
  return { removed, done: false }
}

/** The size of the next slice, in rows, after one of `limit` rows took `took` milliseconds. It at most doubles. */
export function nextLimit(limit: number, took: number): number {
  const fitting = took > 0 ? (limit * targetTime) / took : limit * 2
  return Math.round(Math.min(maxLimit, limit * 2, Math.max(minLimit, fitting)))
}
