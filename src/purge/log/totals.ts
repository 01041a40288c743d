import type { RecordsDatabase } from '../../records/schema.ts'

/** The total numbers of purges and invalidations ever recorded: their last row numbers, which are never reused. */
export async function readPurgeTotals(db: RecordsDatabase): Promise<{ purges: number; invalidations: number }> {
  const rows = await db
    .selectFrom('sqlite_sequence')
    .selectAll()
    .where('name', 'in', ['purges', 'invalidations'])
    .execute()
  const last = (table: string) => rows.find(({ name }) => name === table)?.seq ?? 0
  return { purges: last('purges'), invalidations: last('invalidations') }
}
