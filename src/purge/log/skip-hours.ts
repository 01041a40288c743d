import type { RecordsDatabase } from '../../records/schema.ts'
import { hourLength } from './rollups.ts'

/** Later than everything. */
const endOfTime = Number.MAX_SAFE_INTEGER

/** Up to here it is quicker to read past the rows than to add up the hours. */
const readPast = 1_000

/**
 * Where a list that begins `offset` rows back from the newest is to be read: from before a moment, and how many rows back from
 * there. The hours' sums are added up instead of reading past millions of rows. `total`: all rows.
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
  if (offset <= readPast) return { total, before: endOfTime, offset }
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
