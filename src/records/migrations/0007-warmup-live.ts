import type { Migration } from '../migrate.ts'

/** What the workers of a run tell of it while they work, one row for each; and how fast each origin may be asked, whoever asks next. */
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

    // One row: until when what was purged was given to a run, and to which.
    await db.schema
      .createTable('warmup_purged')
      .addColumn('run_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('until', 'bigint', (column) => column.notNull())
      .execute()
  },
}
