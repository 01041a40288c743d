import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { withErrorCode } from '../lib/with-error-code.ts'
import { damaged, toRecordsError } from './errors.ts'
import { migrate, sqliteVersion, type Migration } from './migrate.ts'
import { migrations as known } from './migrations/list.ts'
import { newSchema } from './migrations/new-schema.ts'
import { holdersOf, Presence } from './presence.ts'
import { ensureRecordsFile, fileName, type NewSchema } from './records-file.ts'
import { busyTimeout, retryWhileBusy } from './retry-while-busy.ts'
import type { Records, RecordsPlace } from './records.ts'
import type { RecordsSchema } from './schema.ts'
import { sqliteDialect } from './sqlite-driver.ts'
import { watchLog } from './watch-log.ts'

export type { Records } from './records.ts'

/** The files that this process has open, by path: while one is lost, no other file is created or opened in its place. */
const inUse = new Map<string, Set<Presence>>()

/** Files up to this size, in bytes, are checked at every start, which takes milliseconds; larger ones only on request. */
const maxCheckedAtStart = 4 * 1024 * 1024

/** For other migrations than ours. */
const noSchema: NewSchema = { version: 0, statements: '' }

export interface OpenOptions extends RecordsPlace {
  /** Milliseconds since the epoch. */
  now: () => number
  migrations?: readonly Migration[]
  /** How long SQLite blocks the thread for a lock, in milliseconds; raise it only in a thread with nothing else to do. */
  lockTimeout?: number
}

/**
 * Opens the records, creates them if they are missing, and migrates their schema. A foreign or damaged database is refused and not changed.
 *
 * @throws STORE_FOREIGN, STORE_NEWER, STORE_DAMAGED, STORE_BUSY, STORE_FULL, STORE_LOST, STORE_UNREACHABLE
 */
export async function openRecords({ postgres = null, ...options }: OpenOptions): Promise<Records> {
  if (postgres === null) return openFile(options)
  const { openPostgres } = await import('./postgres/open.ts')
  return openPostgres(postgres, { now: options.now, migrations: options.migrations ?? known })
}

async function openFile(options: Omit<OpenOptions, 'postgres'>): Promise<Records> {
  const { directory, now, migrations = known, lockTimeout = busyTimeout } = options
  for (const other of inUse.get(join(directory, fileName)) ?? []) other.assert()
  const { file, isNew } = await ensureRecordsFile(directory, now, migrations === known ? newSchema : noSchema)
  const database = await connect(file, lockTimeout)
  const presence = new Presence(file)
  const db = new Kysely<RecordsSchema>({ dialect: sqliteDialect(database, file, presence) })
  const check = async () => {
    const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check`.execute(db)
    return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
  }
  let before: number
  try {
    if (!isNew && statSync(file).size <= maxCheckedAtStart) {
      const [damage] = await check()
      if (damage) throw damaged(file, damage)
    }
    before = await migrate(db, migrations, { database: file, version: sqliteVersion })
  } catch (error) {
    await db.destroy()
    throw error
  }
  inUse.set(file, (inUse.get(file) ?? new Set()).add(presence))
  const close = () => {
    inUse.get(file)?.delete(presence)
    return db.destroy()
  }
  const version = versionReader(database, file, presence)
  return {
    db,
    name: file,
    now,
    check,
    version,
    hint: version,
    watch: (listener) => watchLog(file, listener),
    isShared: false,
    onPurge: () => {},
    truncateLog: () => truncateLog(database, file),
    fault: () => presence.fault(),
    countUsers: async () => holdersOf(file).filter((pid) => pid !== process.pid).length,
    schema: { before: isNew ? 0 : before, now: migrations.length },
    close,
  }
}

/** @returns a function that throws STORE_LOST, STORE_DAMAGED, STORE_BUSY, STORE_FULL */
function versionReader(database: Database.Database, file: string, presence: Presence): () => string {
  const query = database
    .prepare<[], string>("SELECT data_version || '.' || total_changes() FROM pragma_data_version")
    .pluck()
  return () => {
    try {
      return query.get()!
    } catch (error) {
      throw presence.fault() ?? toRecordsError(error, file)
    }
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
    const database = withErrorCode(() => new Database(file, { fileMustExist: true, timeout }))
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
