import type { RecordsDatabase } from '../records/schema.ts'

/** A configured sales channel. */
export interface SalesChannel {
  id: string
  name: string
  url: string
}

/**
 * Updates the table of sales channels from the configuration. Channels removed from the configuration stay in the table, because
 * events may refer to them.
 */
export async function saveChannels(db: RecordsDatabase, channels: readonly SalesChannel[]): Promise<void> {
  if (channels.length === 0) return
  await db
    .insertInto('sales_channel')
    .values(channels.map(({ id, name, url }) => ({ id, name, url })))
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((row) => ({ name: row.ref('excluded.name'), url: row.ref('excluded.url') })),
    )
    .execute()
}
