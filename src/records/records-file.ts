import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makeDirectory } from '../lib/make-directory.ts'
import { withErrorCode } from '../lib/with-error-code.ts'
import { damaged, foreign, lost, toRecordsError, unwritable } from './errors.ts'
import { holderOfDeleted } from './presence.ts'
import { busyTimeout, retryWhileBusy } from './retry-while-busy.ts'

export const fileName = 'records.sqlite'

/** SQLite's application id ("pgcr"): it tells the records from databases of other programs. */
const applicationId = 0x70_67_63_72

/** Bytes of the header of every SQLite database. */
const headerLength = 100
const unfinished = `${fileName}.new-`
/** An unfinished database older than this was left by a process that died while creating it (milliseconds). */
const unfinishedMaxAge = 60_000

/** The schema of a new database: the result of the first `version` migrations. */
export interface NewSchema {
  version: number
  statements: string
}

/**
 * Ensures that the directory (mode 0700) contains a records database (mode 0600). An existing file is checked before anything is written
 * to it. A new database is created under another name and then linked into place: so an empty file is never a records database, and of
 * two processes that start at once one creates it and both use it.
 *
 * @returns the path, and whether the database is a new one
 * @throws STORE_FOREIGN, STORE_DAMAGED, STORE_FULL, STORE_LOST
 */
export async function ensureRecordsFile(
  directory: string,
  now: () => number,
  schema: NewSchema,
): Promise<{ file: string; isNew: boolean }> {
  const file = join(directory, fileName)
  try {
    makeDirectory(directory, 0o700)
    removeUnfinished(directory, now())
    if (!existsSync(file) && create(directory, file, schema)) return { file, isNew: true }
  } catch (error) {
    throw isSystemError(error) ? unwritable(file, error) : toRecordsError(error, file)
  }
  await assertOurs(file)
  return { file, isNew: false }
}

/** Returns false if another process has created the file meanwhile. */
function create(directory: string, file: string, { version, statements }: NewSchema): boolean {
  const holder = holderOfDeleted(file)
  if (holder !== null) throw lost(file, `it was deleted while process ${holder} has it open`)
  // A log without its database belongs to a lost one; SQLite would replay it into the new file.
  if (isFilled(`${file}-wal`) && !existsSync(file)) {
    throw damaged(file, 'the file is missing, but its log (-wal) exists')
  }
  const temporary = join(directory, `${unfinished}${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    closeSync(openSync(temporary, 'wx', 0o600))
    const database = withErrorCode(() => new Database(temporary))
    try {
      // No other process has the file yet, so it is synced once, as a whole.
      database.pragma('synchronous = OFF')
      database.pragma(`application_id = ${applicationId}`)
      database.exec(`BEGIN; ${statements}; PRAGMA user_version = ${version}; COMMIT`)
      database.pragma('journal_mode = WAL')
    } finally {
      // Also removes what a full disk leaves of a transaction.
      database.close()
    }
    sync(temporary)
    linkSync(temporary, file)
    sync(directory)
    return true
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error
    return false
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  }
}

async function assertOurs(file: string): Promise<void> {
  const size = sizeOf(file)
  if (size === 0) throw damaged(file, 'the file is empty')
  if (size < headerLength) throw foreign(file, 'is not an SQLite database')
  if ((await readApplicationId(file)) !== applicationId) throw foreign(file, 'is a database of another program')
}

/** The size in bytes. A directory, pipe or socket is refused here, because opening a pipe would block forever. */
function sizeOf(file: string): number {
  try {
    const stats = statSync(file)
    if (!stats.isFile()) throw foreign(file, 'is not a regular file')
    return stats.size
  } catch (error) {
    throw isSystemError(error) ? unwritable(file, error) : error
  }
}

/**
 * Reads the application id through SQLite, which writes nothing here. It must not use a file descriptor of its own: closing one releases
 * the POSIX locks of all connections of this process, and the next process that ends would remove the log under them.
 */
async function readApplicationId(file: string): Promise<unknown> {
  try {
    const options = { readonly: true, fileMustExist: true, timeout: busyTimeout }
    const database = withErrorCode(() => new Database(file, options))
    try {
      return await retryWhileBusy(() => database.pragma('application_id', { simple: true }))
    } finally {
      database.close()
    }
  } catch (error) {
    const code = error instanceof Database.SqliteError ? error.code : ''
    if (code === 'SQLITE_NOTADB') throw foreign(file, 'is not an SQLite database')
    // Records use a write-ahead log; a file that needs a rollback belongs to another program.
    if (code === 'SQLITE_READONLY_ROLLBACK') throw foreign(file, 'is a database of another program')
    throw toRecordsError(error, file)
  }
}

function removeUnfinished(directory: string, now: number): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(unfinished)) continue
    const path = join(directory, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (made !== undefined && now - made > unfinishedMaxAge) rmSync(path, { force: true })
  }
}

function isFilled(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** Makes the content of a file durable, or the names of the files in a directory. */
function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
