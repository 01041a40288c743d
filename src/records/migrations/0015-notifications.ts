import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/** Problems that operators were notified of, so that each is reported once. */
export const notifications: Migration = {
  name: '0015-notifications',
  async up(db) {
    await db.schema
      .createTable('notified_problems')
      .addColumn('event', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('occurrence', 'text', (column) => column.notNull())
      .addColumn('title', 'text', (column) => column.notNull())
      .addColumn('since', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('notified_problems_key', ['event', 'subject'])
      .modifyEnd(sql`without rowid`)
      .execute()
  },
}
