import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makeDirectory } from '../lib/make-directory.ts'
import { damaged, foreign, lost, toRecordsError, unwritable } from './faults.ts'
import { holderOfDeleted } from './presence.ts'
import { busyTimeout, retryWhileBusy } from './retry-while-busy.ts'

export const fileName = 'records.sqlite'

/** Written into every database of ours ("pgcr"), so that a database of another program is never taken for it. */
const applicationId = 0x70_67_63_72

/** Bytes that every SQLite database begins with. */
const headerLength = 100
const unfinished = `${fileName}.new-`
/** A database takes milliseconds to make: what is older was left by a process that died over it. */
const unfinishedFor = 60_000

/**
 * Makes sure that the directory (mode 0700) holds a database of ours (mode 0600) and returns its path. What
 * is there is judged before anything is written to it. A new one is made beside it under another
 * name and linked into place complete: so a file without content never was ours to begin with, and of two
 * processes that start at once one makes it and both use it.
 *
 * @throws STORE_FOREIGN, STORE_DAMAGED, STORE_FULL, STORE_LOST
 */
export async function ensureRecordsFile(directory: string, now: () => number): Promise<string> {
  const file = join(directory, fileName)
  try {
    makeDirectory(directory, 0o700)
    removeUnfinished(directory, now())
    if (!existsSync(file)) create(directory, file)
  } catch (error) {
    throw isSystemError(error) ? unwritable(file, error) : toRecordsError(error, file)
  }
  await assertOurs(file)
  return file
}

function create(directory: string, file: string): void {
  // A log without its database is the rest of a lost one; SQLite would play it into the new file.
  if (isFilled(`${file}-wal`) && !existsSync(file)) {
    throw damaged(file, 'the file is missing, but its log (-wal) is there')
  }
  const holder = holderOfDeleted(file)
  if (holder !== null) throw lost(file, `it was deleted while the process ${holder} uses it`)
  const temporary = join(directory, `${unfinished}${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    closeSync(openSync(temporary, 'wx', 0o600))
    const database = new Database(temporary)
    database.pragma(`application_id = ${applicationId}`)
    database.pragma('journal_mode = WAL')
    database.close()
    linkSync(temporary, file)
    syncDirectory(directory)
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  }
}

async function assertOurs(file: string): Promise<void> {
  const size = sizeOf(file)
  if (size === 0) throw damaged(file, 'the file is empty')
  if (size < headerLength) throw foreign(file, 'is no SQLite database')
  if ((await readApplicationId(file)) !== applicationId) throw foreign(file, 'is a database of another program')
}

/** Bytes. A directory, a pipe or a socket is not opened: a pipe would never come back. */
function sizeOf(file: string): number {
  try {
    const stats = statSync(file)
    if (!stats.isFile()) throw foreign(file, 'is no file')
    return stats.size
  } catch (error) {
    throw isSystemError(error) ? unwritable(file, error) : error
  }
}

/**
 * Reads through SQLite, which writes nothing here, and never through a descriptor of our own: whichever part of this process closes
 * one takes the locks of all its connections along (POSIX), and the next process that ends would remove the log under them.
 */
async function readApplicationId(file: string): Promise<unknown> {
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true, timeout: busyTimeout })
    try {
      return await retryWhileBusy(() => database.pragma('application_id', { simple: true }))
    } finally {
      database.close()
    }
  } catch (error) {
    const code = error instanceof Database.SqliteError ? error.code : ''
    if (code === 'SQLITE_NOTADB') throw foreign(file, 'is no SQLite database')
    // Ours keep a log; what has to be rolled back is somebody else's.
    if (code === 'SQLITE_READONLY_ROLLBACK') throw foreign(file, 'is a database of another program')
    throw toRecordsError(error, file)
  }
}

function removeUnfinished(directory: string, now: number): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(unfinished)) continue
    const path = join(directory, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && now - made > unfinishedFor) rmSync(path, { force: true })
  }
}

function isFilled(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** The name in the directory is durable only when the directory is. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
