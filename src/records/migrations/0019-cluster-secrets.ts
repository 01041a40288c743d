import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/** Secrets that all nodes have, because they use one database. */
export const clusterSecrets: Migration = {
  name: '0019-cluster-secrets',
  async up(db) {
    await db.schema
      .createTable('cluster_secrets')
      .addColumn('name', 'text', (column) => column.notNull().primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .modifyEnd(sql`without rowid`)
      .execute()
  },
}
