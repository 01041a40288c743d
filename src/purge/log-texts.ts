import type { RecordsTransaction } from '../records/schema.ts'
import type { Entity } from './entities.ts'
import { addToKeyHours, hourOf, KeyMoves, windowHours } from './rollups.ts'

/** What the purge log names by number: each of these gives the numbers of texts, and makes those that are new. */

/** Counts one more purge of each tag. Tags are distinct. */
export async function countTags(transaction: RecordsTransaction, tags: readonly string[], at: number): Promise<Map<string, number>> {
  if (tags.length === 0) return new Map()
  const hour = hourOf(at)
  const rows = await transaction
    .insertInto('purge_tags')
    .values(tags.map((tag) => ({ tag, purges: 1 })))
    .onConflict((conflict) => conflict.column('tag').doUpdateSet((eb) => ({ purges: eb('purge_tags.purges', '+', 1) })))
    .returning(['id', 'tag', 'last_hour'])
    .execute()
  await transaction
    .insertInto('purge_tag_hours')
    .values(rows.map((row) => ({ tag_id: row.id, hour, purges: 1 })))
    .onConflict((conflict) => conflict.columns(['tag_id', 'hour']).doUpdateSet((eb) => ({ purges: eb('purge_tag_hours.purges', '+', 1) })))
    .execute()
  const moves = new KeyMoves()
  // A clock that was set back must not take a tag out of the window in which it was purged.
  for (const row of rows) if (row.last_hour < hour) moves.move(row.last_hour < 0 ? null : row.last_hour, hour)
  await setWindows(transaction, rows.map((row) => row.id), hour)
  await addToKeyHours(transaction, 'tag', moves.changes)
  return new Map(rows.map((row) => [row.tag, row.id]))
}

async function setWindows(transaction: RecordsTransaction, ids: readonly number[], hour: number): Promise<void> {
  await transaction
    .updateTable('purge_tags')
    .set((eb) => ({
      window_count: eb
        .case()
        .when('last_hour', '>=', hour)
        .then(eb('window_count', '+', 1))
        .else(
          eb
            .selectFrom('purge_tag_hours')
            .select((sub) => sub.fn.sum<number>('purge_tag_hours.purges').as('purges'))
            .whereRef('purge_tag_hours.tag_id', '=', 'purge_tags.id')
            .where('purge_tag_hours.hour', '>', hour - windowHours)
            .where('purge_tag_hours.hour', '<=', hour),
        )
        .end(),
      last_hour: eb.case().when('last_hour', '>', hour).then(eb.ref('last_hour')).else(hour).end(),
    }))
    .where('id', 'in', ids)
    .execute()
}

/** Counts one more purge of each entity, and remembers the number that it goes by. Entities may repeat. */
export async function countEntities(
  transaction: RecordsTransaction,
  named: readonly { entity: Entity; number: string | null }[],
): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  const distinct = Map.groupBy(named, ({ entity }) => `${entity.type} ${entity.id}`)
  for (const [name, same] of distinct) {
    const { type, id } = same[0]!.entity
    const number = same.find((each) => each.number !== null)?.number ?? null
    const row = await transaction
      .insertInto('purge_entities')
      .values({ type, entity_id: id, number, purges: same.length })
      .onConflict((conflict) =>
        conflict.columns(['type', 'entity_id']).doUpdateSet((eb) => ({
          purges: eb('purge_entities.purges', '+', same.length),
          ...(number !== null && { number }),
        })),
      )
      .returning('id')
      .executeTakeFirstOrThrow()
    ids.set(name, row.id)
  }
  return ids
}

export interface UrlRow {
  id: number
  url: string
  last_purged_at: number
}

/** The rows of URLs; each once. */
export async function findUrls(transaction: RecordsTransaction, urls: readonly string[]): Promise<Map<string, UrlRow>> {
  if (urls.length === 0) return new Map()
  const rows = await transaction
    .insertInto('purge_urls')
    .values([...new Set(urls)].map((url) => ({ url })))
    .onConflict((conflict) => conflict.column('url').doUpdateSet((eb) => ({ purges: eb.ref('purge_urls.purges') })))
    .returning(['id', 'url', 'last_purged_at'])
    .execute()
  return new Map(rows.map((row) => [row.url, row]))
}

/** Notes that purges of the moment `at` took, or named, URLs; what is noted already is not counted twice. */
export async function notePages(transaction: RecordsTransaction, pages: readonly { url: UrlRow; purge: number }[], at: number): Promise<void> {
  if (pages.length === 0) return
  const pairs = new Map(pages.map(({ url, purge }) => [`${purge} ${url.id}`, { url_id: url.id, purge_id: purge }]))
  const added = await transaction
    .insertInto('purge_pages')
    .values([...pairs.values()])
    .onConflict((conflict) => conflict.doNothing())
    .returning('url_id')
    .execute()
  const counts = new Map<number, number>()
  for (const { url_id } of added) counts.set(url_id, (counts.get(url_id) ?? 0) + 1)
  await addPurgesToUrls(transaction, counts, at)
  const moves = new KeyMoves()
  for (const { id, last_purged_at } of new Set(pages.map(({ url }) => url))) {
    if (counts.has(id) && last_purged_at < at) moves.move(last_purged_at === 0 ? null : hourOf(last_purged_at), hourOf(at))
  }
  await addToKeyHours(transaction, 'url', moves.changes)
}

async function addPurgesToUrls(transaction: RecordsTransaction, counts: ReadonlyMap<number, number>, at: number): Promise<void> {
  for (const [purges, ids] of Map.groupBy(counts.keys(), (id) => counts.get(id)!)) {
    await transaction
      .updateTable('purge_urls')
      .set((eb) => ({
        purges: eb('purges', '+', purges),
        last_purged_at: eb.case().when('last_purged_at', '>', at).then(eb.ref('last_purged_at')).else(at).end(),
      }))
      .where('id', 'in', ids)
      .execute()
  }
}
