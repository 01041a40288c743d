import { PagecacheError } from '../errors.ts'

/**
 * How the store reacts to a failed storage call. `busy`: another process is writing; retry. `unwritable`: no space,
 * permission or file handles; continue without and recover later. `broken`: the files are not, or no longer, our index;
 * start anew.
 */
export type StorageFault = 'busy' | 'unwritable' | 'broken'

/** A row of the index fails its checksum. */
export class DamagedIndex extends Error {
  readonly code = 'SQLITE_CORRUPT'
}

const rules: readonly (readonly [start: string, fault: StorageFault])[] = [
  ['SQLITE_BUSY', 'busy'],
  ['SQLITE_LOCKED', 'busy'],
  ['SQLITE_PROTOCOL', 'busy'],
  ['SQLITE_READONLY_DBMOVED', 'broken'],
  ['SQLITE_IOERR_READ', 'broken'],
  ['SQLITE_IOERR_SHORT_READ', 'broken'],
  ['SQLITE_IOERR_DATA', 'broken'],
  ['SQLITE_IOERR_CORRUPTFS', 'broken'],
  ['SQLITE_IOERR', 'unwritable'],
  ['SQLITE_FULL', 'unwritable'],
  ['SQLITE_READONLY', 'unwritable'],
  ['SQLITE_CANTOPEN', 'unwritable'],
  ['SQLITE_NOMEM', 'unwritable'],
  ['SQLITE_PERM', 'unwritable'],
  ['SQLITE_', 'broken'],
  ['ENOENT', 'broken'],
  ['ENOTDIR', 'broken'],
  ['ELOOP', 'broken'],
  ['E', 'unwritable'],
]

/** Codes caused by a wrong statement or value in our code, not by storage. */
const mistakes = ['ERR_', 'SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_MISUSE', 'SQLITE_RANGE', 'SQLITE_TOOBIG']

/** Classifies a storage error; null for any other error, which is a bug and must be thrown. */
export function faultOf(error: unknown): StorageFault | null {
  const code = codeOf(error)
  if (code === null || mistakes.some((start) => code.startsWith(start))) return null
  return rules.find(([start]) => code.startsWith(start))?.[1] ?? null
}

export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Whether storage caused an error, rather than a bug. */
export function isStorageError(error: unknown): boolean {
  return error instanceof PagecacheError || faultOf(error) !== null
}

/** Whether SQLite failed, rather than a call on the files beside it. */
export function isStatementFault(error: unknown): boolean {
  return codeOf(error)?.startsWith('SQLITE_') ?? false
}

/**
 * SQLite reports only ENOSPC as full. An exceeded quota (EDQUOT) or file size limit (EFBIG) appears as a write or
 * shared-memory error.
 */
const full = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHMSIZE'])

/** Whether a write failed for lack of space. */
export function isFull(error: unknown): boolean {
  return full.has(codeOf(error) ?? '')
}

/** The error code, because messages name different files each time. */
export function nameOf(error: unknown): string {
  return codeOf(error) ?? 'unknown error'
}

export function busy(cause: unknown): PagecacheError {
  const hint = 'Another process holds the page index; try again in a moment.'
  return new PagecacheError('STORE_BUSY', 'The page store is busy', { hint, cause })
}

export function unwritable(cause: unknown, directory?: string): PagecacheError {
  const hint =
    'Free disk space or restore write permission for the application cache directory; the daemon then recovers by itself.'
  return new PagecacheError(
    'STORE_FULL',
    `The page store${directory === undefined ? '' : ` in ${directory}`} is not writable (${nameOf(cause)})`,
    { hint, cause },
  )
}

/** The error for a page directory that cannot be opened: another user owns it, or it cannot be created. */
export function unreadable(directory: string, cause: unknown): PagecacheError {
  const foreign = "Run this as the daemon's user, or give this user read and write permission for the directory."
  const hint = isFull(cause) ? 'Free disk space on its file system.' : foreign
  return new PagecacheError(
    isFull(cause) ? 'STORE_FULL' : 'STORE_UNREADABLE',
    `The page store in ${directory} cannot be opened (${nameOf(cause)})`,
    { hint, cause },
  )
}

/** Null when storage fails. @throws any other error */
export async function unlessStorageFails<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (!isStorageError(error)) throw error
    return null
  }
}
