import { hourOf } from '../../lib/moment.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { addToKeyHours, KeyMoves, windowHours } from './rollups.ts'

/** The reverse of name-rows.ts: URLs, tags and entities are deleted with the last purge that refers to them. */

/** Deletes pages from the log. They are sorted by purge; only the last purge may have further pages. */
export async function forgetPages(
  transaction: RecordsTransaction,
  pages: readonly { url_id: number; purge_id: number }[],
): Promise<void> {
  const last = pages.at(-1)?.purge_id
  if (last === undefined) return
  const complete = [...new Set(pages.map((page) => page.purge_id))].filter((purge) => purge !== last)
  if (complete.length > 0) await transaction.deleteFrom('purge_pages').where('purge_id', 'in', complete).execute()
  const rest = pages.filter((page) => page.purge_id === last).map((page) => page.url_id)
  await transaction.deleteFrom('purge_pages').where('purge_id', '=', last).where('url_id', 'in', rest).execute()
  for (const [count, ids] of byCount(pages.map((page) => page.url_id))) {
    await transaction
      .updateTable('purge_urls')
      .set((eb) => ({ purges: eb('purges', '-', count) }))
      .where('id', 'in', ids)
      .execute()
  }
  const urls = [...new Set(pages.map((page) => page.url_id))]
  const gone = await transaction
    .deleteFrom('purge_urls')
    .where('id', 'in', urls)
    .where('purges', '<=', 0)
    .returning('last_purged_at')
    .execute()
  const moves = new KeyMoves()
  for (const { last_purged_at } of gone) moves.move(hourOf(last_purged_at), null)
  await addToKeyHours(transaction, 'url', moves.changes)
}

/** Subtracts purges from the counts of their tags. */
export async function forgetTags(
  transaction: RecordsTransaction,
  purges: readonly { tag_id: number | null; created_at: number }[],
): Promise<void> {
  const named = purges.flatMap(({ tag_id, created_at }) =>
    tag_id === null ? [] : [{ tag: tag_id, hour: hourOf(created_at) }],
  )
  for (const [hour, own] of Map.groupBy(named, (each) => each.hour)) {
    for (const [count, ids] of byCount(own.map((each) => each.tag)))
      await subtractFromTags(transaction, ids, hour, count)
  }
  const tags = [...new Set(named.map((each) => each.tag))]
  if (tags.length === 0) return
  const gone = await transaction
    .deleteFrom('purge_tags')
    .where('id', 'in', tags)
    .where('purges', '<=', 0)
    .returning('last_hour')
    .execute()
  const moves = new KeyMoves()
  for (const { last_hour } of gone) moves.move(last_hour, null)
  await addToKeyHours(transaction, 'tag', moves.changes)
}

async function subtractFromTags(
  transaction: RecordsTransaction,
  ids: readonly number[],
  hour: number,
  count: number,
): Promise<void> {
  await transaction
    .updateTable('purge_tag_hours')
    .set((eb) => ({ purges: eb('purges', '-', count) }))
    .where('tag_id', 'in', ids)
    .where('hour', '=', hour)
    .execute()
  await transaction
    .deleteFrom('purge_tag_hours')
    .where('tag_id', 'in', ids)
    .where('hour', '=', hour)
    .where('purges', '<=', 0)
    .execute()
  await transaction
    .updateTable('purge_tags')
    .set((eb) => ({
      purges: eb('purges', '-', count),
      window_count: eb
        .case()
        .when('last_hour', '<', hour + windowHours)
        .then(eb('window_count', '-', count))
        .else(eb.ref('window_count'))
        .end(),
    }))
    .where('id', 'in', ids)
    .execute()
}

/** Subtracts purges from the counts of their entities. */
export async function forgetEntities(
  transaction: RecordsTransaction,
  purges: readonly { entity_id: number | null }[],
): Promise<void> {
  const named = purges.flatMap(({ entity_id }) => entity_id ?? [])
  for (const [count, ids] of byCount(named)) {
    await transaction
      .updateTable('purge_entities')
      .set((eb) => ({ purges: eb('purges', '-', count) }))
      .where('id', 'in', ids)
      .execute()
  }
  if (named.length > 0)
    await transaction
      .deleteFrom('purge_entities')
      .where('id', 'in', [...new Set(named)])
      .where('purges', '<=', 0)
      .execute()
}

/** Groups values by how often they occur, so that one statement updates each group. */
function byCount(values: readonly number[]): Map<number, number[]> {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Map.groupBy(counts.keys(), (value) => counts.get(value)!)
}
