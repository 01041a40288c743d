import { sql, type Kysely } from 'kysely'
import { newer, older } from './errors.ts'

/** One step of the schema. Its number is its position in the list; a released step is never changed. */
export interface Migration {
  name: string
  // A step works on the schema of its time, not on the current one.
  // oxlint-disable-next-line no-explicit-any
  up(db: Kysely<any>): Promise<void>
}

/** Where a database keeps the version of its schema. */
export interface SchemaVersion {
  read<T>(db: Kysely<T>): Promise<number>
  /** Makes other processes wait until the transaction ends. */
  lock<T>(transaction: Kysely<T>): Promise<void>
  write<T>(transaction: Kysely<T>, version: number): Promise<void>
  /** The pagecache that has migrated the schema last; null if it is not known. */
  readWriter<T>(db: Kysely<T>): Promise<string | null>
}

export interface MigrateOptions {
  /** How messages name the database. */
  database: string
  version: SchemaVersion
  /**
   * Whether other machines may use the database: then all steps are one transaction, and a schema that exists is migrated only with
   * `mayUpgrade`.
   */
  isShared?: boolean
  mayUpgrade?: boolean
}

/**
 * Migrates the schema to the latest version, one transaction for each step. The version is read again under the lock, so that of two
 * processes that start at once one runs the step and the other skips it. A process that dies in a step leaves the previous version.
 *
 * @returns the version before
 * @throws STORE_NEWER when the database has steps that this program does not know; STORE_OLDER when it has fewer and must not be migrated
 */
export async function migrate<T>(
  db: Kysely<T>,
  migrations: readonly Migration[],
  { database, version, isShared = false, mayUpgrade = true }: MigrateOptions,
): Promise<number> {
  const known = migrations.length
  const needsStep = async (transaction: Kysely<T>, current: number) => {
    if (current === known) return false
    if (current < known && (current === 0 || mayUpgrade)) return true
    const writer = await version.readWriter(transaction)
    throw current > known ? newer(database, { current, known, writer }) : older(database, { current, known, writer })
  }
  const before = await version.read(db)
  while (await needsStep(db, await version.read(db))) {
    // Each statement has to see what was committed before it, not before the lock.
    const transaction = db.transaction().setIsolationLevel('read committed')
    await transaction.execute(async (step) => {
      await version.lock(step)
      const current = await version.read(step)
      if (!(await needsStep(step, current))) return
      const next = isShared ? known : current + 1
      for (const { up } of migrations.slice(current, next)) await up(step)
      await version.write(step, next)
    })
  }
  return before
}

/** SQLite has a number for it in the file. Its transactions make others wait anyway. */
export const sqliteVersion: SchemaVersion = {
  async read(db) {
    const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(db)
    return rows[0]?.user_version ?? 0
  },
  async lock() {},
  async write(transaction, version) {
    await sql.raw(`PRAGMA user_version = ${version}`).execute(transaction)
  },
  async readWriter() {
    return null
  },
}
