import type { Migration } from '../migrate.ts'

/** Clients of the HTTP API. */
export const clients: Migration = {
  name: '0005-clients',
  async up(db) {
    await db.schema
      .createTable('api_clients')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('secret_hash', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .addColumn('revoked_at', 'bigint')
      .execute()
  },
}
