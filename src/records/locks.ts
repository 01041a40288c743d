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

/** PostgreSQL takes this level for `read committed`: it knows no lower one. */
export const unsynced: IsolationLevel = 'read uncommitted'

/**
 * A locking transaction that may be undone if the machine loses power, with all that follows it and was not synced either: its commit does
 * not wait for the disk. The next one that does makes it durable too. No process that knows of it survives such a loss in SQLite; those of
 * a PostgreSQL server do, and must cope with it (docs/decisions/0139-unsynced-claims.md).
 */
export function unsyncedTransaction(db: RecordsDatabase) {
  return db.transaction().setIsolationLevel(unsynced)
}

/**
 * A transaction whose work is done again if it is lost. In SQLite it is not synced. In PostgreSQL it is like any other: those who do the
 * work again do not know that the server has lost it.
 */
export function repeatableTransaction(db: RecordsDatabase) {
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
