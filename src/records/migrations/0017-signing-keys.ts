import type { Migration } from '../migrate.ts'

/** Keys that sign tokens, where several machines share the records. On one machine they are files. */
export const signingKeys: Migration = {
  name: '0017-signing-keys',
  async up(db) {
    await db.schema
      .createTable('signing_keys')
      .addColumn('number', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .execute()
  },
}
