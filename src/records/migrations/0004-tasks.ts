import type { Migration } from '../migrate.ts'

/** Scheduled tasks: their next execution and status. A queued execution is a message of the queue. */
export const tasks: Migration = {
  name: '0004-tasks',
  async up(db) {
    await db.schema
      .createTable('scheduled_tasks')
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('run_interval', 'bigint', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('last_execution_at', 'bigint')
      .addColumn('next_execution_at', 'bigint', (column) => column.notNull())
      .addColumn('result', 'text')
      .addColumn('error', 'text')
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
  },
}
