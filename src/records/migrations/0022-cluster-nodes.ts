import type { Migration } from '../migrate.ts'

/** What operators see of several machines: their addresses, figures and counts, and the nodes that a purge could not wait for. */
export const clusterNodes: Migration = {
  name: '0022-cluster-nodes',
  async up(db) {
    const members = () => db.schema.alterTable('cluster_members')
    await members().addColumn('address', 'text').execute()
    await members().addColumn('process', 'text').execute()
    await members()
      .addColumn('replaced', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await members()
      .addColumn('answered', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await members().addColumn('statistics', 'text').execute()
    await db.schema
      .createTable('cluster_questions')
      .addColumn('id', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .execute()
    await db.schema
      .createTable('cluster_removed')
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('member', 'text', (column) => column.notNull())
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('counts', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('cluster_removed_key', ['number', 'member'])
      .execute()
    await db.schema.alterTable('purges').addColumn('unconfirmed', 'text').execute()
    await db.schema.alterTable('invalidations').addColumn('unconfirmed', 'text').execute()
  },
}
