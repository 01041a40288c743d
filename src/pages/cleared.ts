import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { removeTrash } from './clear.ts'
import { codeOf, faultOf } from './faults.ts'
import { PageIndex } from './page-index.ts'
import type { Taken } from './page-store.ts'
import { isCleared, newTrash, within } from './places.ts'
import type { SharedIndex } from './shared-index.ts'

/** The traces that are not released: those opened before a moment (ms since the epoch) in the current index, and all in cleared directories. */
export function readUnreleased(shared: SharedIndex, directory: string, before: number): number[] {
  const current = shared.read<number[]>([], (index) => index.unreleased(before))
  return [...current, ...readCleared(directory, (index) => index.unreleased()).flatMap(({ value }) => value ?? [])]
}

/** The next pages of a trace, in the current index and in cleared directories; null if not all of these can be read now. */
export function readTaken(
  shared: SharedIndex,
  directory: string,
  trace: number,
  after: number,
  limit: number,
): Taken[] | null {
  const read = (index: PageIndex) => ({ pages: index.taken(trace, after, limit) })
  const current = shared.read<{ pages: Taken[] | null } | null>(null, read)
  if (current === null) return null
  const cleared = readCleared(directory, read)
  // A directory that can never be read must not hold up the traces of later purges.
  if (current.pages === null && cleared.some(({ isReadable }) => !isReadable)) return null
  // The current index may have become a cleared one meanwhile. Other indexes do not share page ids.
  const found = new Map([current, ...cleared.map(({ value }) => value)].flatMap(toEntries))
  return [...found.values()].sort((one, other) => one.id - other.id).slice(0, limit)
}

function toEntries(read: { pages: Taken[] | null } | null): [number, Taken][] {
  return (read?.pages ?? []).map((page) => [page.id, page])
}

/**
 * Deletes the cleared directories whose traces are all among these. Nothing is written to their indexes, so a directory with further
 * traces stays until all of them are released at once.
 */
export function releaseCleared(directory: string, traces: readonly number[]): void {
  const released = new Set(traces)
  const going = readCleared(directory, (index) => index.unreleased()).filter(
    ({ value, isReadable }) => isReadable && (value ?? []).every((trace) => released.has(trace)),
  )
  for (const { name } of going) {
    try {
      renameSync(join(directory, name), newTrash(directory))
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  if (going.length > 0) removeTrash(directory)
}

interface Cleared<T> {
  name: string
  /** Null for an index that is gone, damaged or unreadable. */
  value: T | null
  /** False while the index cannot be read although it may be sound. */
  isReadable: boolean
}

function readCleared<T>(directory: string, read: (index: PageIndex) => T): Cleared<T>[] {
  return namesIn(directory).map((name) => {
    try {
      return { name, value: readFrom(directory, name, read), isReadable: true }
    } catch (error) {
      const fault = faultOf(error)
      if (fault === null) throw error
      return { name, value: null, isReadable: fault === 'broken' }
    }
  })
}

function readFrom<T>(directory: string, name: string, read: (index: PageIndex) => T): T {
  // Opened read-only: another thread may have this file open under its old name, and the last writable connection
  // to close would delete the shared memory under that name, which by now belongs to the new index.
  const index = new PageIndex(within(directory, join(directory, name)), { readonly: true })
  try {
    return read(index)
  } finally {
    index.close()
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => isCleared(name))
  } catch (error) {
    if (faultOf(error) === null) throw error
    return []
  }
}
