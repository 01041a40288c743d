import { sql, type Kysely } from 'kysely'
import { newer } from './errors.ts'

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
}

/**
 * Migrates the schema to the latest version, one transaction for each step. The version is read again under the lock, so that of two
 * processes that start at once one runs the step and the other skips it. A process that dies in a step leaves the previous version.
 *
 * @param database how messages name it
 * @throws STORE_NEWER when the database has steps that this program does not know
 */
export async function migrate<T>(
  db: Kysely<T>,
  migrations: readonly Migration[],
  { database, version }: { database: string; version: SchemaVersion },
): Promise<void> {
  const needsStep = (current: number) => {
    if (current > migrations.length) throw newer(database, current, migrations.length)
    return current < migrations.length
  }
  while (needsStep(await version.read(db))) {
    // Each statement has to see what was committed before it, not before the lock.
    const transaction = db.transaction().setIsolationLevel('read committed')
    await transaction.execute(async (step) => {
      await version.lock(step)
      const current = await version.read(step)
      if (!needsStep(current)) return
      await migrations[current]!.up(step)
      await version.write(step, current + 1)
    })
  }
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
}
