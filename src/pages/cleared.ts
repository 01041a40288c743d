import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { removeTrash } from './clear.ts'
import { codeOf, faultOf } from './faults.ts'
import { PageIndex } from './page-index.ts'
import type { Taken } from './page-store.ts'
import { isCleared, newTrash, within } from './places.ts'

/** The next removed pages of a cleared directory; empty when the directory is gone. */
export function takenByClear(directory: string, trace: number, after: number, limit: number): Taken[] {
  for (const name of namesOf(directory, [trace])) {
    try {
      // Opened read-only: another thread may have this file open under its old name, and the last writable connection
      // to close would delete the shared memory under that name, which by now belongs to the new index.
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

/** Releases cleared directories for deletion. */
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
