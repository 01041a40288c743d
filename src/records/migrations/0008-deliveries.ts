import type { Migration } from '../migrate.ts'

/** The circuit breaker of each reverse proxy, shared by all workers. */
export const deliveries: Migration = {
  name: '0008-deliveries',
  async up(db) {
    await db.schema
      .createTable('reverse_proxy_states')
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('failing_since', 'bigint')
      .addColumn('open_until', 'bigint')
      .addColumn('last_error', 'text')
      .addColumn('last_failure_at', 'bigint')
      .addColumn('last_delivery_at', 'bigint')
      .execute()
  },
}
