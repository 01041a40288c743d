import type { Migration } from '../migrate.ts'
import { describeServer } from './per-database.ts'

/** The order of purges on several machines, and their serving processes (docs/cluster.md). */
export const purgeClock: Migration = {
  name: '0020-purge-clock',
  async up(db) {
    await describeServer(db)
    await db.schema
      .createTable('cluster_clock')
      .addColumn('id', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('floor', 'bigint', (column) => column.notNull())
      .addColumn('history', 'text', (column) => column.notNull())
      .addColumn('settled', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('cluster_purges')
      .addColumn('number', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('store', 'text', (column) => column.notNull())
      .addColumn('invalidation_id', 'bigint')
      .addColumn('removals', 'text', (column) => column.notNull())
      .execute()
    await db.schema
      .createIndex('cluster_purges_of_invalidation')
      .on('cluster_purges')
      .columns(['invalidation_id'])
      .execute()
    await db.schema
      .createTable('cluster_members')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('store', 'text', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('renewal', 'bigint', (column) => column.notNull())
      .addColumn('lease', 'bigint', (column) => column.notNull())
      .addColumn('alone', 'bigint', (column) => column.notNull())
      .addColumn('since', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('marked_at', 'bigint', (column) => column.notNull())
      .execute()
  },
}
