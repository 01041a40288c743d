import type { Migration } from '../migrate.ts'

/** Logins of the admin page. */
export const adminSessions: Migration = {
  name: '0014-admin-sessions',
  async up(db) {
    await db.schema
      .createTable('admin_sessions')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('kid', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute()
  },
}
