import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import type { PagecacheError } from '../errors.ts'
import { damaged, toRecordsError } from './faults.ts'
import { migrate, type Migration } from './migrate.ts'
import { migrations as known } from './migrations/list.ts'
import { Presence } from './presence.ts'
import { ensureRecordsFile, fileName } from './records-file.ts'
import { busyTimeout, retryWhileBusy } from './retry-while-busy.ts'
import type { RecordsSchema } from './schema.ts'
import { sqliteDialect } from './sqlite-driver.ts'

/** The database of everything that must last (`var/data/<env>/records.sqlite`). */
export interface Records {
  db: Kysely<RecordsSchema>
  /** Milliseconds since the epoch, for the rows' times. */
  now: () => number
  /** Reads the whole file; the faults found, in SQLite's words, none when it is sound. Seconds on a large file. */
  check(): Promise<string[]>
  /** Another value than before where anything was committed since, by this process or another one; about a microsecond. */
  version(): string
  /**
   * Moves the write-ahead log into the file and empties it, so that rows that were deleted are in neither. False where readers of
   * other connections kept the log in use for five seconds.
   */
  truncateLog(): Promise<boolean>
  /** STORE_LOST where the file was deleted or replaced since it was opened: nothing is written then. Null where all is well; a few microseconds. */
  fault(): PagecacheError | null
  close(): Promise<void>
}

/** The files that this process has open, by path: while one is lost, no other is made or taken in its place. */
const inUse = new Map<string, Set<Presence>>()

/** Up to this size a file is read through at every start: a few milliseconds. Larger ones are checked on request. */
const checkedAtStart = 4 * 1024 * 1024

/**
 * Opens the records in a directory, makes them where there are none, and brings their schema up to date.
 * A file that cannot be ours or cannot be trusted is refused and left as it is.
 *
 * @param now milliseconds since the epoch
 * @throws STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_BUSY, STORE_FULL, STORE_LOST
 */
export async function openRecords(options: {
  directory: string
  now: () => number
  migrations?: readonly Migration[]
  /** How long SQLite itself waits for a lock, in milliseconds; longer only in a thread that nobody shares. */
  lockTimeout?: number
}): Promise<Records> {
  const { directory, now, migrations = known, lockTimeout = busyTimeout } = options
  for (const other of inUse.get(join(directory, fileName)) ?? []) other.assert()
  const file = await ensureRecordsFile(directory, now)
  const database = await connect(file, lockTimeout)
  const presence = new Presence(file)
  const db = new Kysely<RecordsSchema>({ dialect: sqliteDialect(database, file, presence) })
  const check = async () => {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check`.execute(db)
    return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
  }
  try {
    if (statSync(file).size <= checkedAtStart) {
      const [fault] = await check()
      if (fault) throw damaged(file, fault)
    }
    await migrate(db, migrations, file)
  } catch (error) {
    await db.destroy()
    throw error
  }
  const versionQuery = database
    .prepare<[], string>("SELECT data_version || '.' || total_changes() FROM pragma_data_version")
    .pluck()
  inUse.set(file, (inUse.get(file) ?? new Set()).add(presence))
  const close = () => {
    inUse.get(file)?.delete(presence)
    return db.destroy()
  }
  return {
    db,
    now,
    check,
    version: () => versionQuery.get()!,
    truncateLog: () => truncateLog(database, file),
    fault: () => presence.fault(),
    close,
  }
}

async function truncateLog(database: Database.Database, file: string): Promise<boolean> {
  const checkpoint = database.prepare<[], { busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')
  try {
    return await retryWhileBusy(
      () => checkpoint.get()!.busy === 0,
      (truncated) => !truncated,
    )
  } catch (error) {
    throw toRecordsError(error, file)
  }
}

async function connect(file: string, timeout: number): Promise<Database.Database> {
  try {
    const database = new Database(file, { fileMustExist: true, timeout })
    try {
      await retryWhileBusy(() => {
        database.pragma('journal_mode = WAL')
        // What was answered outlives a power cut: every commit is synced.
        database.pragma('synchronous = FULL')
        database.pragma('foreign_keys = ON')
        // Deleted rows are overwritten with zeros: an erased customer is not found in the file's free space.
        database.pragma('secure_delete = ON')
      })
    } catch (error) {
      database.close()
      throw error
    }
    return database
  } catch (error) {
    throw toRecordsError(error, file)
  }
}
