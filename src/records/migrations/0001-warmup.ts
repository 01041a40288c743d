import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/** Warmup runs, their batches and their failed URLs. */
export const warmup: Migration = {
  name: '0001-warmup',
  async up(db) {
    await db.schema
      .createTable('warmup_runs')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('sales_channel_id', 'text')
      .addColumn('batch_size', 'integer', (column) => column.notNull())
      .addColumn('force', 'integer', (column) => column.notNull())
      .addColumn('total_urls', 'integer', (column) => column.notNull())
      .addColumn('checked_urls', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('processed_urls', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('skipped_urls', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('failed_urls', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('urls_per_second', 'real', (column) => column.notNull().defaultTo(0))
      .addColumn('message', 'text')
      .addColumn('discovery', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('finished_at', 'bigint')
      .addColumn('paused_at', 'bigint')
      .addColumn('paused_for', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()

    // No foreign key to the run: batches are written before it, in slices, and are ignored until the run exists.
    await db.schema
      .createTable('warmup_batches')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('sales_channel_id', 'text', (column) => column.notNull())
      .addColumn('urls', 'text', (column) => column.notNull())
      .addColumn('size', 'integer', (column) => column.notNull())
      .addColumn('taken', 'text', (column) => column.notNull().defaultTo(''))
      .addColumn('done', 'text', (column) => column.notNull().defaultTo(''))
      .addColumn('openings', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('finished_at', 'bigint')
      .addPrimaryKeyConstraint('warmup_batches_key', ['run_id', 'number'])
      .execute()

    // Finished batches are not in this index, so resuming a run does not read past them.
    await db.schema
      .createIndex('warmup_batches_open')
      .on('warmup_batches')
      .columns(['run_id', 'number', 'sales_channel_id'])
      .where(sql.ref('finished_at'), 'is', null)
      .execute()

    await db.schema
      .createTable('warmup_failures')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('run_id', 'text', (column) => column.notNull().references('warmup_runs.id').onDelete('cascade'))
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('variant', 'integer', (column) => column.notNull())
      .addColumn('status', 'integer')
      .addColumn('error', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema.createIndex('warmup_failures_url').on('warmup_failures').columns(['url']).execute()
    await db.schema.createIndex('warmup_failures_of_run').on('warmup_failures').columns(['run_id', 'id']).execute()
  },
}
