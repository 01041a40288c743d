import type { Migration } from '../migrate.ts'

/** What the workers of a run tell of it while they work: one row for each, written again about four times a second. */
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
  },
}
