import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

const amounts = [
  'requests',
  ...[1, 2, 3, 4, 5].map((digit) => `status_${digit}xx`),
  'bytes',
  'origin_us',
  'served_us',
  ...Array.from({ length: 15 }, (_, bucket) => `b${bucket}`),
]

/** What visitors got, by minute and by hour, and the most frequent misses of each hour. */
export const traffic: Migration = {
  name: '0013-traffic',
  async up(db) {
    for (const table of ['traffic_minutes', 'traffic_hours']) {
      let create = db.schema
        .createTable(table)
        .addColumn('start', 'integer', (column) => column.notNull())
        .addColumn('channel_id', 'text', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('result', 'text', (column) => column.notNull())
      for (const amount of amounts) create = create.addColumn(amount, 'bigint', (column) => column.notNull())
      await create
        .addPrimaryKeyConstraint(`${table}_key`, ['start', 'channel_id', 'type', 'result'])
        .modifyEnd(sql`without rowid`)
        .execute()
    }
    await db.schema
      .createTable('traffic_misses')
      .addColumn('hour', 'integer', (column) => column.notNull())
      .addColumn('channel_id', 'text', (column) => column.notNull())
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('requests', 'bigint', (column) => column.notNull())
      .addColumn('origin_us', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('traffic_misses_key', ['hour', 'channel_id', 'path', 'reason'])
      .modifyEnd(sql`without rowid`)
      .execute()
  },
}
