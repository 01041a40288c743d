import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import type { PagecacheError } from '../errors.ts'
import { damaged, toRecordsError } from './errors.ts'
import { migrate, type Migration } from './migrate.ts'
import { migrations as known } from './migrations/list.ts'
import type { ReadFrames } from './overwrites.ts'
import { Presence } from './presence.ts'
import { ensureRecordsFile, fileName } from './records-file.ts'
import { busyTimeout, retryWhileBusy } from './retry-while-busy.ts'
import type { RecordsSchema } from './schema.ts'
import { sqliteDialect } from './sqlite-driver.ts'

/** The database of all durable state (`var/data/<env>/records.sqlite`). */
export interface Records {
  db: Kysely<RecordsSchema>
  /** The clock for the times in rows, in milliseconds since the epoch. */
  now: () => number
  /** Reads the whole file; returns SQLite's descriptions of damage, an empty list for an intact file. Takes seconds on a large file. */
  check(): Promise<string[]>
  /** A value that changes with every commit of this or another process; reading it takes about a microsecond. */
  version(): string
  /**
   * Moves the write-ahead log into the file and truncates it, so that neither contains deleted rows. False if readers on other
   * connections kept the log in use for five seconds.
   */
  truncateLog(): Promise<boolean>
  /** STORE_LOST if the file was deleted or replaced since it was opened, which blocks all writes; otherwise null. Takes a few microseconds. */
  fault(): PagecacheError | null
  close(): Promise<void>
}

/** The files that this process has open, by path: while one is lost, no other file is created or opened in its place. */
const inUse = new Map<string, Set<Presence>>()

/** Files up to this size, in bytes, are checked at every start, which takes milliseconds; larger ones only on request. */
const maxCheckedAtStart = 4 * 1024 * 1024

/**
 * Opens the records in a directory, creates them if they are missing, and migrates their schema. A foreign or damaged file is refused and
 * not changed.
 *
 * @param now milliseconds since the epoch
 * @throws STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_BUSY, STORE_FULL, STORE_LOST
 */
export async function openRecords(options: {
  directory: string
  now: () => number
  migrations?: readonly Migration[]
  /** How long SQLite blocks the thread for a lock, in milliseconds; raise it only in a thread with nothing else to do. */
  lockTimeout?: number
}): Promise<Records> {
  const { directory, now, migrations = known, lockTimeout = busyTimeout } = options
  for (const other of inUse.get(join(directory, fileName)) ?? []) other.assert()
  const file = await ensureRecordsFile(directory, now)
  const database = await connect(file, lockTimeout)
  const versionQuery = database
    .prepare<[], string>("SELECT data_version || '.' || total_changes() FROM pragma_data_version")
    .pluck()
  const version = () => versionQuery.get()!
  const presence = new Presence(file, () => readFrames(database, version))
  const db = new Kysely<RecordsSchema>({ dialect: sqliteDialect(database, file, presence) })
  const check = async () => {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check`.execute(db)
    return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
  }
  try {
    if (statSync(file).size <= maxCheckedAtStart) {
      const [damage] = await check()
      if (damage) throw damaged(file, damage)
    }
    await migrate(db, migrations, file)
  } catch (error) {
    await db.destroy()
    throw error
  }
  inUse.set(file, (inUse.get(file) ?? new Set()).add(presence))
  const close = () => {
    inUse.get(file)?.delete(presence)
    return db.destroy()
  }
  return {
    db,
    now,
    check,
    version,
    truncateLog: () => truncateLog(database, file),
    fault: () => presence.fault(),
    close,
  }
}

/** Null inside a transaction, where SQLite does not tell. */
function readFrames(database: Database.Database, version: () => string): ReturnType<ReadFrames> {
  if (database.inTransaction) return null
  const [frames] = database.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[]
  return frames === undefined ? null : { ...frames, version: version() }
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
        // Sync every commit, so that acknowledged writes survive a power cut.
        database.pragma('synchronous = FULL')
        database.pragma('foreign_keys = ON')
        // Overwrite deleted rows with zeros, so that an erased customer is not left in the file's free space.
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
