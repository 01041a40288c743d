import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'
import { refuseUpdates } from './per-database.ts'

/** Popup stages, their visitor events, the sums of events by hour, and the counters of sessions. */
export const stages: Migration = {
  name: '0006-stages',
  async up(db) {
    await db.schema
      .createTable('sales_channel')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .execute()

    await db.schema
      .createTable('vendor_stage')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('stats_enabled', 'integer', (column) => column.notNull())
      .addColumn('retention_days', 'integer', (column) => column.notNull())
      .addColumn('max_per_session', 'integer')
      .addColumn('frequency', 'text', (column) => column.notNull())
      .addColumn('sales_channel_id', 'text', (column) => column.references('sales_channel.id'))
      .addColumn('active', 'integer', (column) => column.notNull())
      .addColumn('page_types', 'text', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('deleted', 'text')
      .execute()

    // Without rowid: one B-tree less to write, and v7 ids are ascending.
    await db.schema
      .createTable('vendor_stage_event')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('popup_id', 'text', (column) => column.notNull().references('vendor_stage.id'))
      .addColumn('event_type', 'text', (column) =>
        column.notNull().check(sql`event_type in ('impression', 'cta_click', 'close', 'permanent_dismiss')`),
      )
      .addColumn('sales_channel_id', 'text', (column) => column.notNull().references('sales_channel.id'))
      .addColumn('customer_id', 'text')
      .addColumn('page_type', 'text')
      .addColumn('request_url', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .modifyEnd(sql`without rowid`)
      .execute()
    await db.schema
      .createIndex('vendor_stage_event_age')
      .on('vendor_stage_event')
      .columns(['popup_id', 'created_at'])
      .execute()
    await db.schema
      .createIndex('vendor_stage_event_customer')
      .on('vendor_stage_event')
      .column('customer_id')
      .where(sql.ref('customer_id'), 'is not', null)
      .execute()
    await refuseUpdates(db)

    await db.schema
      .createTable('vendor_stage_rollup')
      .addColumn('popup_id', 'text', (column) => column.notNull().references('vendor_stage.id').onDelete('cascade'))
      .addColumn('hour', 'integer', (column) => column.notNull())
      .addColumn('impression', 'integer', (column) => column.notNull())
      .addColumn('cta_click', 'integer', (column) => column.notNull())
      .addColumn('close', 'integer', (column) => column.notNull())
      .addColumn('permanent_dismiss', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('vendor_stage_rollup_key', ['popup_id', 'hour'])
      .modifyEnd(sql`without rowid`)
      .execute()

    // Sorted by day and digest: the order of visits is not stored, and a day is deleted in one piece. No foreign key, because its index
    // would cost as much as the rows; rows of a deleted stage expire within two days.
    await db.schema
      .createTable('vendor_stage_session')
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('session', 'text', (column) => column.notNull())
      .addColumn('popup_id', 'text', (column) => column.notNull())
      .addColumn('shows', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('vendor_stage_session_key', ['expires_at', 'session', 'popup_id'])
      .modifyEnd(sql`without rowid`)
      .execute()
  },
}
