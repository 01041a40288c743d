import type { DeliveryStatus, PurgeKindColumn } from '../../records/purge-rows.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { invalidationIdOf, purgeIdOf } from './log-id.ts'
import { fromUnconfirmedColumn } from './unconfirmed.ts'

type PurgeKind = 'url' | 'tag' | 'entity' | 'type' | 'all'

/** How a purge treated its pages, by its value in the column `soft`. `softened`: soft because of the purge budget. */
export const purgeModes = ['hard', 'soft', 'softened'] as const
export type PurgeMode = (typeof purgeModes)[number]

/** A purge as the API returns it. Durations in milliseconds. */
export interface PurgeItem {
  id: string
  createdAt: string
  kind: PurgeKind
  /** The page type, for a purge of a type. */
  type: string | null
  /** `application-cache` if a purge of everything cleared the whole directory. */
  value: string | null
  url: string | null
  tag: string | null
  entityType: string | null
  entityId: string | null
  entityNumber: string | null
  invalidationId: string
  source: string
  /** The client or address that caused it; null for the command line, and once the invalidation is no longer in its log. */
  actor: string | null
  mode: PurgeMode
  pagesRemoved: number
  responseTime: number | null
  proxies: PurgeItemProxy[]
  /** Nodes that had no lease, and may have served the pages for a while after the purge. */
  unconfirmed: string[]
}

interface PurgeItemProxy {
  name: string
  status: DeliveryStatus
  attempts: number
  responseTime: number | null
  error: string | null
}

/** Reads purges, in the order of the ids. */
export async function readItems(db: RecordsDatabase, ids: readonly number[]): Promise<PurgeItem[]> {
  if (ids.length === 0) return []
  const rows = await readRows(db, ids)
  const deliveries = await readDeliveries(db, ids)
  const items = new Map(rows.map((row) => [row.id, toItem(row, deliveries.get(row.id) ?? [])]))
  return ids.flatMap((id) => items.get(id) ?? [])
}

function readRows(db: RecordsDatabase, ids: readonly number[]) {
  return db
    .selectFrom('purges as p')
    .leftJoin('purge_urls as u', 'u.id', 'p.url_id')
    .leftJoin('purge_tags as t', 't.id', 'p.tag_id')
    .leftJoin('purge_entities as e', 'e.id', 'p.entity_id')
    .leftJoin('invalidations as i', 'i.id', 'p.invalidation_id')
    .select(['p.id', 'p.invalidation_id', 'p.created_at', 'p.source', 'p.kind', 'p.value', 'p.soft'])
    .select(['p.pages_removed', 'p.response_time', 'p.unconfirmed'])
    .select(['u.url', 't.tag', 'e.type as entity_type', 'e.entity_id as entity', 'e.number', 'i.actor'])
    .where('p.id', 'in', ids)
    .execute()
}

function toItem(row: Awaited<ReturnType<typeof readRows>>[number], proxies: PurgeItem['proxies']): PurgeItem {
  return {
    id: purgeIdOf(row),
    createdAt: new Date(row.created_at).toISOString(),
    kind: kindOf(row.kind),
    type: row.kind === 'type' ? row.value : null,
    value: row.kind === 'all' ? row.value : null,
    // A pattern matches URLs.
    url: row.kind === 'pattern' ? row.value : row.url,
    tag: row.tag,
    entityType: row.entity_type,
    entityId: row.entity,
    entityNumber: row.number,
    invalidationId: invalidationIdOf({ created_at: row.created_at, id: row.invalidation_id }),
    source: row.source,
    actor: row.actor,
    mode: purgeModes[row.soft]!,
    pagesRemoved: row.pages_removed,
    responseTime: toMilliseconds(row.response_time),
    proxies,
    unconfirmed: fromUnconfirmedColumn(row.unconfirmed),
  }
}

function kindOf(kind: PurgeKindColumn): PurgeKind {
  return kind === 'pattern' ? 'url' : kind
}

/** Rounds a duration to microseconds. */
export function toMilliseconds(time: number | null): number | null {
  return time === null ? null : Math.round(time * 1000) / 1000
}

async function readDeliveries(db: RecordsDatabase, ids: readonly number[]): Promise<Map<number, PurgeItemProxy[]>> {
  const rows = await db
    .selectFrom('purge_deliveries')
    .selectAll()
    .where('purge_id', 'in', ids)
    .orderBy('purge_id')
    .orderBy('proxy')
    .execute()
  const deliveries = new Map<number, PurgeItemProxy[]>()
  for (const { purge_id, proxy, status, attempts, response_time, error } of rows) {
    const own = deliveries.get(purge_id) ?? []
    own.push({ name: proxy, status, attempts, responseTime: toMilliseconds(response_time), error })
    deliveries.set(purge_id, own)
  }
  return deliveries
}
