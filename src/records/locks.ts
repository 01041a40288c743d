import { PostgresAdapter, sql, type IsolationLevel, type SelectQueryBuilder } from 'kysely'
import type { RecordsDatabase } from './schema.ts'

/** Whether the records are in PostgreSQL. */
export function isPostgres(db: Pick<RecordsDatabase, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/**
 * A transaction that relies on its locks alone: it conflicts with no other one, and each statement sees what was committed before it. In
 * SQLite every transaction has the lock of the whole file.
 */
export function lockingTransaction(db: RecordsDatabase) {
  return db.transaction().setIsolationLevel('read committed')
}

/** Marks a transaction as unsynced. PostgreSQL treats this level as `read committed`, the lowest that it has. */
export const unsynced: IsolationLevel = 'read uncommitted'

/**
 * A locking transaction whose commit does not wait for the disk. A power cut may undo it, together with all later unsynced ones; the next
 * synced commit makes it durable. With SQLite no process that knows of it survives such a loss. Clients of a PostgreSQL server do survive,
 * and must cope with it (docs/decisions/0139-unsynced-claims.md).
 */
export function unsyncedTransaction(db: RecordsDatabase) {
  return db.transaction().setIsolationLevel(unsynced)
}

/**
 * A transaction for work that is repeated after a power cut. With SQLite its commit is not synced. With PostgreSQL it is: a process that
 * survives a crash of the server would not repeat the work.
 */
export function unsyncedInSqlite(db: RecordsDatabase) {
  return isPostgres(db) ? db.transaction() : unsyncedTransaction(db)
}

/**
 * Adds to each row of a query whether this transaction has obtained the lock of its group (1), which it then keeps until it ends. In
 * SQLite it always has.
 */
export function withLocks<DB, TB extends keyof DB, Row extends { group: string | null }>(
  db: RecordsDatabase,
  rows: SelectQueryBuilder<DB, TB, Row>,
) {
  const lock = isPostgres(db)
    ? sql<number>`pg_try_advisory_xact_lock(hashtextextended(${sql.ref('found.group')}, 0))::int`
    : sql<number>`1`
  return db.selectFrom(rows.as('found')).selectAll('found').select(lock.as('locked'))
}
