import { sql, type Kysely } from 'kysely'
import { newer } from './errors.ts'

/** One step of the schema. Its number is its position in the list; a released step is never changed. */
export interface Migration {
  name: string
  // A step works on the schema of its time, not on the current one.
  // oxlint-disable-next-line no-explicit-any
  up(db: Kysely<any>): Promise<void>
}

/**
 * Migrates the schema to the latest version, one transaction for each step. The version is read again under the write lock, so that of two
 * processes that start at once one runs the step and the other skips it. A process that dies in a step leaves the previous version.
 *
 * @throws STORE_NEWER when the file has steps that this program does not know
 */
export async function migrate<T>(db: Kysely<T>, migrations: readonly Migration[], file: string): Promise<void> {
  while (needsStep(await readVersion(db), migrations, file)) {
    await db.transaction().execute(async (transaction) => {
      const version = await readVersion(transaction)
      if (!needsStep(version, migrations, file)) return
      await migrations[version]!.up(transaction)
      await sql.raw(`PRAGMA user_version = ${version + 1}`).execute(transaction)
    })
  }
}

function needsStep(version: number, migrations: readonly Migration[], file: string): boolean {
  if (version > migrations.length) throw newer(file, version, migrations.length)
  return version < migrations.length
}

async function readVersion<T>(db: Kysely<T>): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(db)
  return rows[0]?.user_version ?? 0
}
