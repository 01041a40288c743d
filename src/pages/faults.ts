import { PagecacheError } from '../errors.ts'

/**
 * What a failed storage call means for the store: `busy`, another process is writing, try again;
 * `unwritable`, no room, no right or no handles now, go on without and recover later;
 * `broken`, what lies on the disk is not (or no longer) our index, begin anew.
 */
export type Fault = 'busy' | 'unwritable' | 'broken'

/** The index says something that cannot be true: a row whose seal does not fit. */
export class DamagedIndex extends Error {
  readonly code = 'SQLITE_CORRUPT'
}

const rules: readonly (readonly [start: string, fault: Fault])[] = [
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

/** What a wrong statement or value of ours brings about; no fault of the storage. */
const mistakes = ['ERR_', 'SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_MISUSE', 'SQLITE_RANGE', 'SQLITE_TOOBIG']

/** Null for what is no storage error at all, which is a bug and must be heard. */
export function faultOf(error: unknown): Fault | null {
  const code = codeOf(error)
  if (code === null || mistakes.some((start) => code.startsWith(start))) return null
  return rules.find(([start]) => code.startsWith(start))?.[1] ?? null
}

export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Whether an operation failed because of the storage, and not because of a bug. */
export function isStorageError(error: unknown): boolean {
  return error instanceof PagecacheError || faultOf(error) !== null
}

/** Whether SQLite failed, and not a call on the files beside it. */
export function isStatementFault(error: unknown): boolean {
  return codeOf(error)?.startsWith('SQLITE_') ?? false
}

/** SQLite calls only ENOSPC full: a quota (EDQUOT) or a limit on files (EFBIG) is an error of a write or of the shared memory. */
const full = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHMSIZE'])

/** No room for a write, as SQLite and the operating system call it. */
export function isFull(error: unknown): boolean {
  return full.has(codeOf(error) ?? '')
}

/** The code and not the message, which names other files each time. */
export function nameOf(error: unknown): string {
  return codeOf(error) ?? 'it cannot be opened'
}

export function busy(cause: unknown): PagecacheError {
  const hint = 'Another process holds the page index; try again in a moment.'
  return new PagecacheError('STORE_BUSY', 'The page store is busy', { hint, cause })
}

export function unwritable(cause: unknown, directory?: string): PagecacheError {
  const hint = 'Make room or restore the right to write in the application cache directory; nothing else is needed.'
  return new PagecacheError(
    'STORE_FULL',
    `The page store${directory === undefined ? '' : ` in ${directory}`} cannot be written (${nameOf(cause)})`,
    { hint, cause },
  )
}

/** The pages in a directory cannot be opened: they are somebody else's, or the directory cannot be made. */
export function unreadable(directory: string, cause: unknown): PagecacheError {
  const foreign = 'Run this as the user whom the daemon runs as, or give this user the right to read and write there.'
  const hint = isFull(cause) ? 'Make room on its file system.' : foreign
  return new PagecacheError(
    isFull(cause) ? 'STORE_FULL' : 'STORE_UNREADABLE',
    `The page store in ${directory} cannot be opened (${nameOf(cause)})`,
    { hint, cause },
  )
}
