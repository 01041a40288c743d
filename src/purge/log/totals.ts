import type { RecordsDatabase } from '../../records/schema.ts'

/** How many purges and invalidations were ever recorded: the last numbers that their rows were given, which no clearing of a log takes back. */
export async function readPurgeTotals(db: RecordsDatabase): Promise<{ purges: number; invalidations: number }> {
  const rows = await db
    .selectFrom('sqlite_sequence')
    .selectAll()
    .where('name', 'in', ['purges', 'invalidations'])
    .execute()
  const last = (table: string) => rows.find(({ name }) => name === table)?.seq ?? 0
  return { purges: last('purges'), invalidations: last('invalidations') }
}
