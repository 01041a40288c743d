import type { RecordsDatabase } from '../../records/schema.ts'
import type { Entity } from '../entities.ts'
import { readItems, type PurgeItem } from './purge-items.ts'
import { skipHours } from './skip-hours.ts'

export interface Range {
  limit: number
  offset: number
}

/** Lists purges, newest first. */
export async function listRecent(db: RecordsDatabase, range: Range): Promise<{ total: number; items: PurgeItem[] }> {
  const { total, before, offset } = await skipHours(db, 'purges', range.offset)
  const rows = await db
    .selectFrom('purges')
    .select('id')
    .where('created_at', '<', before)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(range.limit)
    .offset(offset)
    .execute()
  return {
    total,
    items: await readItems(
      db,
      rows.map((row) => row.id),
    ),
  }
}

export interface PurgedUrl {
  url: string
  purges: number
  lastPurgedAt: string
}

/** Lists purged URLs, by name or through a tag, entity, type or pattern; the most recently purged first. */
export async function listUrls(
  db: RecordsDatabase,
  { limit, offset }: Range,
): Promise<{ total: number; items: PurgedUrl[] }> {
  const { total } = await db
    .selectFrom('purge_key_hours')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('keys'), eb.lit(0)).as('total'))
    .where('kind', '=', 'url')
    .executeTakeFirstOrThrow()
  const rows = await db
    .selectFrom('purge_urls')
    .select(['url', 'purges', 'last_purged_at'])
    .where('last_purged_at', '>', 0)
    .orderBy('last_purged_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const items = rows.map(({ url, purges, last_purged_at }) => ({
    url,
    purges,
    lastPurgedAt: new Date(last_purged_at).toISOString(),
  }))
  return { total, items }
}

/**
 * Lists the purges that removed a page of the URL or one of its fragments, or named one of these URLs: the newest `limit`
 * after the first `offset`, oldest first.
 */
export async function readUrlFlow(
  db: RecordsDatabase,
  url: string,
  { limit, offset }: Range,
  fragments: readonly string[] = [],
): Promise<{ total: number; items: PurgeItem[] }> {
  const urls = await db
    .selectFrom('purge_urls')
    .select(['id', 'purges'])
    .where('url', 'in', [url, ...fragments])
    .execute()
  const [first] = urls
  if (first === undefined) return { total: 0, items: [] }
  const ids = urls.map(({ id }) => id)
  const ofUrls = db.selectFrom('purge_pages').where('url_id', 'in', ids)
  const rows = await ofUrls
    .select('purge_id as id')
    .distinct()
    .orderBy('purge_id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const items = await readInOrder(db, rows)
  // The number for one URL is known, and its log may be long.
  if (urls.length === 1) return { total: first.purges, items }
  const { total } = await ofUrls
    .select((eb) => eb.fn.count<number>('purge_id').distinct().as('total'))
    .executeTakeFirstOrThrow()
  return { total, items }
}

/** Lists the purges of tags that name the entity: the newest `limit` after the first `offset`, oldest first. */
export async function readTimeline(
  db: RecordsDatabase,
  entity: Entity,
  { limit, offset }: Range,
): Promise<{ total: number; items: PurgeItem[] }> {
  const row = await db
    .selectFrom('purge_entities')
    .select(['id', 'purges'])
    .where('type', '=', entity.type)
    .where('entity_id', '=', entity.id)
    .executeTakeFirst()
  if (row === undefined) return { total: 0, items: [] }
  const rows = await db
    .selectFrom('purges')
    .select('id')
    .where('entity_id', '=', row.id)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return { total: row.purges, items: await readInOrder(db, rows) }
}

/** Sorts by time, because a purge that is recorded after a crash has a higher number than later purges. */
async function readInOrder(db: RecordsDatabase, rows: readonly { id: number }[]): Promise<PurgeItem[]> {
  const items = await readItems(db, rows.map((row) => row.id).toReversed())
  return items.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
}

/** The entity with this product number; null if no purge carried the number. */
export async function findByNumber(db: RecordsDatabase, type: Entity['type'], number: string): Promise<Entity | null> {
  const row = await db
    .selectFrom('purge_entities')
    .select('entity_id')
    .where('type', '=', type)
    .where('number', '=', number)
    .orderBy('id', 'desc')
    .executeTakeFirst()
  return row === undefined ? null : { type, id: row.entity_id }
}

/** The product number of an entity; null if no purge carried one. */
export async function findNumber(db: RecordsDatabase, entity: Entity): Promise<string | null> {
  const row = await db
    .selectFrom('purge_entities')
    .select('number')
    .where('type', '=', entity.type)
    .where('entity_id', '=', entity.id)
    .executeTakeFirst()
  return row?.number ?? null
}
