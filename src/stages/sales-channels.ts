import type { RecordsDatabase } from '../records/schema.ts'

/** A sales channel, as the configuration has it. */
export interface SalesChannel {
  id: string
  name: string
  url: string
}

/**
 * Keeps the table of sales channels in step with the configuration. A channel that left it stays in the table:
 * there may be events that name it.
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
