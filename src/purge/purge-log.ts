import type { RecordsDatabase } from '../records/schema.ts'
import type { Entity } from './entities.ts'
import { readItems, type PurgeItem } from './purge-items.ts'
import { skipHours } from './skip-hours.ts'

export interface Range {
  limit: number
  offset: number
}

/** The purges, newest first. */
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
  return { total, items: await readItems(db, rows.map((row) => row.id)) }
}

export interface PurgedUrl {
  url: string
  purges: number
  lastPurgedAt: string
}

/** URLs that were purged, by name or with what was named; the last purged first. */
export async function listUrls(db: RecordsDatabase, { limit, offset }: Range): Promise<{ total: number; items: PurgedUrl[] }> {
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
  const items = rows.map(({ url, purges, last_purged_at }) => ({ url, purges, lastPurgedAt: new Date(last_purged_at).toISOString() }))
  return { total, items }
}

/** Every purge that took the page of a URL, or named the URL, oldest first. */
export async function readUrlFlow(db: RecordsDatabase, url: string, { limit, offset }: Range): Promise<PurgeItem[]> {
  const rows = await db
    .selectFrom('purge_urls')
    .innerJoin('purge_pages', 'purge_pages.url_id', 'purge_urls.id')
    .select('purge_pages.purge_id')
    .where('purge_urls.url', '=', url)
    .orderBy('purge_pages.purge_id')
    .limit(limit)
    .offset(offset)
    .execute()
  return readItems(db, rows.map((row) => row.purge_id))
}

/** Every purge of a tag that names the entity, oldest first. */
export async function readTimeline(db: RecordsDatabase, entity: Entity, { limit, offset }: Range): Promise<PurgeItem[]> {
  const rows = await db
    .selectFrom('purge_entities')
    .innerJoin('purges', 'purges.entity_id', 'purge_entities.id')
    .select('purges.id')
    .where('purge_entities.type', '=', entity.type)
    .where('purge_entities.entity_id', '=', entity.id)
    .orderBy('purges.id')
    .limit(limit)
    .offset(offset)
    .execute()
  return readItems(db, rows.map((row) => row.id))
}

/** The entity that purges with this number were of, and the number it goes by; null where there was none. */
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

/** The number that an entity goes by; null where no purge of it carried one. */
export async function findNumber(db: RecordsDatabase, entity: Entity): Promise<string | null> {
  const row = await db
    .selectFrom('purge_entities')
    .select('number')
    .where('type', '=', entity.type)
    .where('entity_id', '=', entity.id)
    .executeTakeFirst()
  return row?.number ?? null
}
