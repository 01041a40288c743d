import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/**
 * Copies the key of each purge into its undelivered deliveries, so that the purge log can be cleared and pruned without them. Also extends
 * a tag's count to the 25 clock hours that a window of exactly 24 hours can touch.
 */
export const deliveriesApart: Migration = {
  name: '0011-deliveries-apart',
  async up(db) {
    await db.schema.alterTable('purge_deliveries').addColumn('created_at', 'bigint').execute()
    await db.schema.alterTable('purge_deliveries').addColumn('kind', 'text').execute()
    await db.schema.alterTable('purge_deliveries').addColumn('key', 'text').execute()
    await db.schema
      .alterTable('purge_deliveries')
      .addColumn('soft', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`
      update purge_deliveries set
        created_at = (select created_at from purges where id = purge_id),
        kind = (select kind from purges where id = purge_id),
        soft = coalesce((select soft from purges where id = purge_id), 0),
        "key" = (
          select coalesce(purge_urls.url, purge_tags.tag, purges.value) from purges
          left join purge_urls on purge_urls.id = purges.url_id left join purge_tags on purge_tags.id = purges.tag_id
          where purges.id = purge_id
        )
      where status in ('pending', 'failed')`.execute(db)
    await sql`
      update purge_tags set window_count = coalesce(
        (select sum(purges) from purge_tag_hours where tag_id = purge_tags.id and hour > purge_tags.last_hour - 25 and hour <= purge_tags.last_hour), 0)`.execute(
      db,
    )
  },
}
