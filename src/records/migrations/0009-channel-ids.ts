import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/**
 * Rewrites sales channel ids in one form, lower case with dashes, however the configuration spells them: otherwise a stage of one channel
 * would refer to an unknown channel. Events keep the id with which they were written.
 */
export const channelIds: Migration = {
  name: '0009-channel-ids',
  async up(db) {
    const canonical = (id: string) => {
      const hex = sql`lower(replace(${sql.ref(id)}, '-', ''))`
      return sql`substr(${hex}, 1, 8) || '-' || substr(${hex}, 9, 4) || '-' || substr(${hex}, 13, 4) || '-' || substr(${hex}, 17, 4) || '-' || substr(${hex}, 21)`
    }
    await sql`insert into sales_channel (id, name, url) select ${canonical('id')}, name, url from sales_channel where length(replace(id, '-', '')) = 32 on conflict do nothing`.execute(
      db,
    )
    await sql`update vendor_stage set sales_channel_id = ${canonical('sales_channel_id')} where length(replace(sales_channel_id, '-', '')) = 32`.execute(
      db,
    )
  },
}
