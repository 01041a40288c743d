import { hourLength } from '../../lib/moment.ts'
import type { RecordsDatabase } from '../../records/schema.ts'

/** Later than any time. */
const endOfTime = Number.MAX_SAFE_INTEGER

/** Up to this offset, skipping rows is faster than adding up hours. */
const maxRowsToSkip = 1_000

/**
 * Finds where a list starts that skips the newest `offset` rows: the rows before a time, and the offset from there. It adds up the sums
 * per hour instead of reading millions of rows. `total`: the number of all rows.
 */
export async function skipHours(
  db: RecordsDatabase,
  column: 'purges' | 'invalidations',
  offset: number,
): Promise<{ total: number; before: number; offset: number }> {
  const { total } = await db
    .selectFrom('purge_hours')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>(column), eb.lit(0)).as('total'))
    .executeTakeFirstOrThrow()
  if (offset <= maxRowsToSkip) return { total, before: endOfTime, offset }
  const hours = await db
    .selectFrom('purge_hours')
    .select(['hour', `${column} as rows`])
    .orderBy('hour', 'desc')
    .execute()
  let left = offset
  for (const { hour, rows } of hours) {
    if (left < rows) return { total, before: (hour + 1) * hourLength, offset: left }
    left -= rows
  }
  return { total, before: 0, offset: 0 }
}
