import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { removeTrash } from './clear.ts'
import { codeOf, faultOf } from './faults.ts'
import { PageIndex } from './page-index.ts'
import type { Taken } from './page-store.ts'
import { isCleared, newTrash, within } from './places.ts'

/** Page directories that were cleared and moved aside, as long as the URLs in them are still to be read. */

/** The next pages of a cleared directory; none where it is gone. */
export function takenByClear(directory: string, trace: number, after: number, limit: number): Taken[] {
  for (const name of namesOf(directory, [trace])) {
    try {
      // Another thread may still have this file open under its old name. A connection that can write, and is the last one to be closed,
      // would remove the shared memory by that name: it is the new index's by now.
      const index = new PageIndex(within(directory, join(directory, name)), { readonly: true })
      try {
        return index.traces.all(after, limit)
      } finally {
        index.close()
      }
    } catch (error) {
      if (faultOf(error) === null) throw error
    }
  }
  return []
}

/** Gives what was cleared over to be deleted. */
export function releaseCleared(directory: string, traces: readonly number[]): void {
  const names = namesOf(directory, traces)
  for (const name of names) {
    try {
      renameSync(join(directory, name), newTrash(directory))
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  if (names.length > 0) removeTrash(directory)
}

function namesOf(directory: string, traces: readonly number[]): string[] {
  try {
    return readdirSync(directory).filter((name) => isCleared(name) && traces.some((trace) => isCleared(name, trace)))
  } catch (error) {
    if (faultOf(error) === null) throw error
    return []
  }
}
