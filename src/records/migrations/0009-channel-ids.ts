import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/**
 * Sales channels are called by one form of their id, lower case and with dashes, however the configuration spells it: stages that
 * are for one channel alone would otherwise be for a channel that nobody has. Events keep the id that they were written with.
 */
export const channelIds: Migration = {
  name: '0009-channel-ids',
  async up(db) {
    const canonical = (id: string) => {
      const hex = sql`lower(replace(${sql.ref(id)}, '-', ''))`
      return sql`substr(${hex}, 1, 8) || '-' || substr(${hex}, 9, 4) || '-' || substr(${hex}, 13, 4) || '-' || substr(${hex}, 17, 4) || '-' || substr(${hex}, 21)`
    }
    await sql`insert or ignore into sales_channel (id, name, url) select ${canonical('id')}, name, url from sales_channel where length(replace(id, '-', '')) = 32`.execute(
      db,
    )
    await sql`update vendor_stage set sales_channel_id = ${canonical('sales_channel_id')} where length(replace(sales_channel_id, '-', '')) = 32`.execute(
      db,
    )
  },
}
