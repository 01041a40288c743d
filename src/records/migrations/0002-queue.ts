import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/** Messages and workers of the queue. */
export const queue: Migration = {
  name: '0002-queue',
  async up(db) {
    await db.schema
      .createTable('queue_messages')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('transport', 'text', (column) => column.notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('group', 'text')
      .addColumn('key', 'text')
      .addColumn('available_at', 'bigint', (column) => column.notNull())
      .addColumn('delay', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('crashes', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('lease', 'text')
      .addColumn('worker', 'text')
      .addColumn('taken_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_error', 'text')
      .addColumn('failed_at', 'bigint')
      .addColumn('origin', 'text')
      .execute()

    // Finds the head of each group without reading the rest of it, however long the queue is.
    await db.schema
      .createIndex('queue_messages_waiting')
      .on('queue_messages')
      .columns(['transport', 'type', 'group', 'available_at', 'id'])
      .where(sql.ref('lease'), 'is', null)
      .execute()
    await db.schema
      .createIndex('queue_messages_held')
      .on('queue_messages')
      .columns(['group'])
      .where(sql.ref('lease'), 'is not', null)
      .execute()
    await db.schema
      .createIndex('queue_messages_of_worker')
      .on('queue_messages')
      .columns(['worker'])
      .where(sql.ref('lease'), 'is not', null)
      .execute()
    await db.schema
      .createIndex('queue_messages_due')
      .on('queue_messages')
      .columns(['available_at'])
      .where(sql.ref('lease'), 'is', null)
      .execute()
    // A failed message keeps its key but does not merge.
    await db.schema
      .createIndex('queue_messages_key')
      .on('queue_messages')
      .columns(['key'])
      .unique()
      .where(sql.ref('key'), 'is not', null)
      .where(sql.ref('lease'), 'is', null)
      .where(sql.ref('failed_at'), 'is', null)
      .execute()

    await db.schema
      .createTable('queue_workers')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('boot_id', 'text')
      .addColumn('pid_namespace', 'text')
      .addColumn('pid', 'integer', (column) => column.notNull())
      .addColumn('process_started', 'text')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('transports', 'text', (column) => column.notNull())
      .addColumn('types', 'text', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('beat', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('stopping', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
