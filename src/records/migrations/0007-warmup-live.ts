import type { Migration } from '../migrate.ts'

/** The live progress of each worker in a run, and the request limits of each origin, shared by all workers. */
export const warmupLive: Migration = {
  name: '0007-warmup-live',
  async up(db) {
    await db.schema
      .createTable('warmup_live')
      .addColumn('run_id', 'text', (column) => column.notNull().references('warmup_runs.id').onDelete('cascade'))
      .addColumn('worker', 'text', (column) => column.notNull())
      .addColumn('snapshot', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('warmup_live_key', ['run_id', 'worker'])
      .execute()

    await db.schema
      .createTable('warmup_origins')
      .addColumn('origin', 'text', (column) => column.primaryKey().notNull())
      .addColumn('not_before', 'bigint', (column) => column.notNull())
      .addColumn('concurrency', 'real', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()

    // At most one row: the last warmup of purged pages, and the time up to which it covers purges.
    await db.schema
      .createTable('warmup_purged')
      .addColumn('run_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('until', 'bigint', (column) => column.notNull())
      .execute()
  },
}
