import type { RecordsDatabase } from '../../records/schema.ts'
import { invalidationIdOf } from './log-id.ts'
import type { Range } from './purge-log.ts'
import { skipHours } from './skip-hours.ts'
import { fromUnconfirmedColumn } from './unconfirmed.ts'

/** An invalidation as the API returns it. */
export interface InvalidationItem {
  id: string
  at: string
  source: string
  actor: string | null
  scope: string
  value: string | null
  pagesRemoved: number
  /** Nodes that had no lease, and may have served the pages for a while after it. */
  unconfirmed: string[]
}

/** Lists invalidations, newest first. */
export async function listInvalidations(
  db: RecordsDatabase,
  range: Range,
): Promise<{ total: number; items: InvalidationItem[] }> {
  const { total, before, offset } = await skipHours(db, 'invalidations', range.offset)
  const rows = await db
    .selectFrom('invalidations')
    .select(invalidationColumns)
    .where('created_at', '<', before)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(range.limit)
    .offset(offset)
    .execute()
  return { total, items: rows.map(toInvalidationItem) }
}

/** The columns of an `InvalidationItem`. */
export const invalidationColumns = [
  'id',
  'created_at',
  'source',
  'actor',
  'scope',
  'value',
  'pages_removed',
  'unconfirmed',
] as const

export function toInvalidationItem(row: {
  id: number
  created_at: number
  source: string
  actor: string | null
  scope: string
  value: string | null
  pages_removed: number
  unconfirmed: string | null
}): InvalidationItem {
  const { source, actor, scope, value } = row
  return {
    id: invalidationIdOf(row),
    at: new Date(row.created_at).toISOString(),
    source,
    actor,
    scope,
    value,
    pagesRemoved: row.pages_removed,
    unconfirmed: fromUnconfirmedColumn(row.unconfirmed),
  }
}
