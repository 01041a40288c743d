import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'
import { listLastNumbers } from './per-database.ts'

/**
 * Invalidations, their purges, the deliveries to each reverse proxy, and the purged URLs. Designed for ten million purges: rows refer to
 * texts by number, and the daily statistics are summed by hour when purges are written.
 */
export const purges: Migration = {
  name: '0003-purges',
  async up(db) {
    await db.schema
      .createTable('invalidations')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement().notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('actor', 'text')
      .addColumn('scope', 'text', (column) => column.notNull())
      .addColumn('value', 'text')
      .addColumn('soft', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('pages_removed', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('intent', 'text')
      .addColumn('owner', 'text')
      .addColumn('recorded', 'text')
      .addColumn('trace', 'text')
      .addColumn('traced', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema.createIndex('invalidations_created').on('invalidations').columns(['created_at']).execute()
    await db.schema
      .createIndex('invalidations_intended')
      .on('invalidations')
      .columns(['id'])
      .where(sql.ref('intent'), 'is not', null)
      .execute()
    await db.schema
      .createIndex('invalidations_tracing')
      .on('invalidations')
      .columns(['id'])
      .where(sql.ref('trace'), 'is not', null)
      .execute()

    await db.schema
      .createTable('purges')
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement().notNull())
      .addColumn('invalidation_id', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('url_id', 'bigint')
      .addColumn('tag_id', 'bigint')
      .addColumn('entity_id', 'bigint')
      .addColumn('value', 'text')
      .addColumn('soft', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('pages_removed', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('response_time', 'real')
      .execute()
    await db.schema.createIndex('purges_created').on('purges').columns(['created_at']).execute()
    await db.schema
      .createIndex('purges_of_entity')
      .on('purges')
      .columns(['entity_id'])
      .where(sql.ref('entity_id'), 'is not', null)
      .execute()

    await db.schema
      .createTable('purge_deliveries')
      .addColumn('purge_id', 'bigint', (column) => column.notNull())
      .addColumn('proxy', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('response_time', 'real')
      .addColumn('error', 'text')
      .addPrimaryKeyConstraint('purge_deliveries_key', ['purge_id', 'proxy'])
      .modifyEnd(sql`without rowid`)
      .execute()
    // Finds pending and failed deliveries of a proxy in order, without reading the delivered ones.
    for (const status of ['pending', 'failed']) {
      await db.schema
        .createIndex(`purge_deliveries_${status}`)
        .on('purge_deliveries')
        .columns(['proxy', 'purge_id'])
        .where(sql.ref('status'), '=', sql.lit(status))
        .execute()
    }

    await db.schema
      .createTable('purge_urls')
      .addColumn('id', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('url', 'text', (column) => column.notNull().unique())
      .addColumn('purges', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('last_purged_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema.createIndex('purge_urls_last').on('purge_urls').columns(['last_purged_at']).execute()

    await db.schema
      .createTable('purge_pages')
      .addColumn('url_id', 'bigint', (column) => column.notNull())
      .addColumn('purge_id', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('purge_pages_key', ['url_id', 'purge_id'])
      .modifyEnd(sql`without rowid`)
      .execute()
    await db.schema.createIndex('purge_pages_of_purge').on('purge_pages').columns(['purge_id']).execute()

    await db.schema
      .createTable('purge_tags')
      .addColumn('id', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('tag', 'text', (column) => column.notNull().unique())
      .addColumn('purges', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('last_hour', 'integer', (column) => column.notNull().defaultTo(-1))
      .addColumn('window_count', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    // By the hour of their last purge, the most purged first, for the top tags of a day (src/purge/log/top-tags.ts).
    await db.schema.createIndex('purge_tags_top').on('purge_tags').columns(['last_hour', 'window_count']).execute()
    await db.schema
      .createTable('purge_tag_hours')
      .addColumn('tag_id', 'bigint', (column) => column.notNull())
      .addColumn('hour', 'integer', (column) => column.notNull())
      .addColumn('purges', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('purge_tag_hours_key', ['tag_id', 'hour'])
      .modifyEnd(sql`without rowid`)
      .execute()

    await db.schema
      .createTable('purge_entities')
      .addColumn('id', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('entity_id', 'text', (column) => column.notNull())
      .addColumn('number', 'text')
      .addColumn('purges', 'integer', (column) => column.notNull().defaultTo(0))
      .addUniqueConstraint('purge_entities_key', ['type', 'entity_id'])
      .execute()
    await db.schema
      .createIndex('purge_entities_number')
      .on('purge_entities')
      .columns(['type', 'number'])
      .where(sql.ref('number'), 'is not', null)
      .execute()

    await db.schema
      .createTable('purge_hours')
      .addColumn('hour', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('purges', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('invalidations', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('responses', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('response_time', 'real', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .createTable('purge_key_hours')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('hour', 'integer', (column) => column.notNull())
      .addColumn('keys', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('purge_key_hours_key', ['kind', 'hour'])
      .modifyEnd(sql`without rowid`)
      .execute()
    await listLastNumbers(db)
  },
}
