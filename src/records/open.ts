import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { damaged, toRecordsError } from './faults.ts'
import { migrate, type Migration } from './migrate.ts'
import { migrations as known } from './migrations/list.ts'
import { ensureRecordsFile } from './records-file.ts'
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
  close(): Promise<void>
}

/** Up to this size a file is read through at every start: a few milliseconds. Larger ones are checked on request. */
const checkedAtStart = 4 * 1024 * 1024

/**
 * Opens the records in a directory, makes them where there are none, and brings their schema up to date.
 * A file that cannot be ours or cannot be trusted is refused and left as it is.
 *
 * @param now milliseconds since the epoch
 * @throws STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_BUSY, STORE_FULL
 */
export async function openRecords(options: {
  directory: string
  now: () => number
  migrations?: readonly Migration[]
  /** How long SQLite itself waits for a lock, in milliseconds; longer only in a thread that nobody shares. */
  lockTimeout?: number
}): Promise<Records> {
  const { directory, now, migrations = known, lockTimeout = busyTimeout } = options
  const file = await ensureRecordsFile(directory, now)
  const database = await connect(file, lockTimeout)
  const db = new Kysely<RecordsSchema>({ dialect: sqliteDialect(database, file) })
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
  const versionQuery = database.prepare<[], string>("SELECT data_version || '.' || total_changes() FROM pragma_data_version").pluck()
  return { db, now, check, version: () => versionQuery.get()!, close: () => db.destroy() }
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
