import { hourLength, hourOf } from '../../lib/moment.ts'
import { givenRows, prepareRows } from '../../records/statements.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import type { Entity } from '../entities.ts'
import { addToKeyHours, KeyMoves, windowHours } from './rollups.ts'

/** Rows for the URLs, tags and entities that the purge log refers to by number. Each function adds missing rows and returns all numbers. */

const addTags = prepareRows<
  { tag: string; purges: number; last_hour: number; window_count: number },
  { id: number; tag: string; purges: number; last_hour: number }
>(['tag', 'purges', 'last_hour', 'window_count'], (rows, db) =>
  db
    .insertInto('purge_tags')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('tag').doUpdateSet((eb) => ({
        purges: eb('purge_tags.purges', '+', eb.ref('excluded.purges')),
        // A clock that was set back must not remove a tag from the window in which it was purged.
        window_count: eb
          .case()
          .when('purge_tags.last_hour', '>=', eb.ref('excluded.last_hour'))
          .then(eb('purge_tags.window_count', '+', eb.ref('excluded.purges')))
          .else(eb.ref('purge_tags.window_count'))
          .end(),
      })),
    )
    .returning(['id', 'tag', 'purges', 'last_hour']),
)

const addTagHours = prepareRows<{ tag_id: number; hour: number; purges: number }>(
  ['tag_id', 'hour', 'purges'],
  (rows, db) =>
    db
      .insertInto('purge_tag_hours')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['tag_id', 'hour'])
          .doUpdateSet((eb) => ({ purges: eb('purge_tag_hours.purges', '+', eb.ref('excluded.purges')) })),
      ),
)

/** Adds one purge to the count of each tag; tags may repeat. Returns the numbers of the tags. `at` in milliseconds since the epoch. */
export async function countTags(
  transaction: RecordsTransaction,
  tags: readonly string[],
  at: number,
): Promise<Map<string, number>> {
  const hour = hourOf(at)
  const counts = new Map<string, number>()
  for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  const rows = await addTags.execute(
    transaction,
    [...counts].map(([tag, purges]) => ({ tag, purges, last_hour: hour, window_count: purges })),
  )
  await addTagHours.execute(
    transaction,
    rows.map(({ id, tag }) => ({ tag_id: id, hour, purges: counts.get(tag)! })),
  )
  const moves = new KeyMoves()
  const [fresh, known] = [
    rows.filter(({ tag, purges }) => purges === counts.get(tag)),
    rows.filter(({ tag, purges }) => purges !== counts.get(tag)),
  ]
  for (const _ of fresh) moves.move(null, hour)
  const late = known.filter(({ last_hour }) => last_hour < hour)
  for (const { last_hour } of late) moves.move(last_hour < 0 ? null : last_hour, hour)
  if (late.length > 0)
    await setWindows(
      transaction,
      late.map(({ id }) => id),
      hour,
    )
  await addToKeyHours(transaction, 'tag', moves.changes)
  return new Map(rows.map((row) => [row.tag, row.id]))
}

/** Moves the windows of tags to `hour`, the latest one in which they were purged. */
async function setWindows(transaction: RecordsTransaction, ids: readonly number[], hour: number): Promise<void> {
  await transaction
    .updateTable('purge_tags')
    .set((eb) => ({
      window_count: eb
        .selectFrom('purge_tag_hours')
        .select((sub) => sub.fn.sum<number>('purge_tag_hours.purges').as('purges'))
        .whereRef('purge_tag_hours.tag_id', '=', 'purge_tags.id')
        .where('purge_tag_hours.hour', '>', hour - windowHours)
        .where('purge_tag_hours.hour', '<=', hour),
      last_hour: hour,
    }))
    .where('id', 'in', ids)
    .execute()
}

const addEntities = prepareRows<
  { type: string; entity_id: string; number: string | null; purges: number },
  { id: number; type: string; entity_id: string }
>(['type', 'entity_id', 'number', 'purges'], (rows, db) =>
  db
    .insertInto('purge_entities')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['type', 'entity_id']).doUpdateSet((eb) => ({
        purges: eb('purge_entities.purges', '+', eb.ref('excluded.purges')),
        number: eb.fn.coalesce('excluded.number', 'purge_entities.number'),
      })),
    )
    .returning(['id', 'type', 'entity_id']),
)

/** Adds one purge to the count of each entity and saves its product number; entities may repeat. Returns the numbers of their rows. */
export async function countEntities(
  transaction: RecordsTransaction,
  named: readonly { entity: Entity; number: string | null }[],
): Promise<Map<string, number>> {
  const distinct = Map.groupBy(named, ({ entity }) => `${entity.type} ${entity.id}`)
  const rows = [...distinct.values()].map((same) => {
    const { type, id } = same[0]!.entity
    return {
      type,
      entity_id: id,
      number: same.find((each) => each.number !== null)?.number ?? null,
      purges: same.length,
    }
  })
  const ids = await addEntities.execute(transaction, rows)
  return new Map(ids.map(({ id, type, entity_id }) => [`${type} ${entity_id}`, id]))
}

interface UrlRow {
  id: number
  url: string
}

const addUrls = prepareRows<{ url: string }, UrlRow>(['url'], (rows, db) =>
  db
    .insertInto('purge_urls')
    .values(rows)
    .onConflict((conflict) => conflict.column('url').doUpdateSet((eb) => ({ purges: eb.ref('purge_urls.purges') })))
    .returning(['id', 'url']),
)

/** Finds or adds the rows of URLs. Returns their numbers. */
export async function findUrls(transaction: RecordsTransaction, urls: readonly string[]): Promise<Map<string, number>> {
  const rows = await addUrls.execute(
    transaction,
    [...new Set(urls)].map((url) => ({ url })),
  )
  return new Map(rows.map((row) => [row.url, row.id]))
}

interface CountedUrl extends UrlRow {
  purges: number
  last_purged_at: number
}

/** Adds to the counts of URLs. The time of a URL whose last purge was in an earlier hour is left for `setTimes`. */
const countUrls = prepareRows<Omit<CountedUrl, 'id'>, CountedUrl>(['url', 'purges', 'last_purged_at'], (rows, db) =>
  db
    .insertInto('purge_urls')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('url').doUpdateSet((eb) => ({
        purges: eb('purge_urls.purges', '+', eb.ref('excluded.purges')),
        last_purged_at: eb
          .case()
          .when(
            eb.and([
              eb('purge_urls.last_purged_at', '<', eb.ref('excluded.last_purged_at')),
              // Both sides are hours: the database divides integers without a remainder.
              eb(
                eb('purge_urls.last_purged_at', '/', eb.lit(hourLength)),
                '=',
                eb('excluded.last_purged_at', '/', eb.lit(hourLength)),
              ),
            ]),
          )
          .then(eb.ref('excluded.last_purged_at'))
          .else(eb.ref('purge_urls.last_purged_at'))
          .end(),
      })),
    )
    .returning(['id', 'url', 'purges', 'last_purged_at']),
)

const setTimes = prepareRows<{ last_purged_at: number; id: number }>(['last_purged_at', 'id'], (rows, db) =>
  db
    .updateTable('purge_urls')
    .from(givenRows(rows, { last_purged_at: 'bigint', id: 'bigint' }))
    .set((eb) => ({ last_purged_at: eb.ref('given.last_purged_at') }))
    .whereRef('purge_urls.id', '=', 'given.id'),
)

const subtractPurges = prepareRows<{ purges: number; id: number }>(['purges', 'id'], (rows, db) =>
  db
    .updateTable('purge_urls')
    .from(givenRows(rows, { purges: 'bigint', id: 'bigint' }))
    .set((eb) => ({ purges: eb('purge_urls.purges', '-', eb.ref('given.purges')) }))
    .whereRef('purge_urls.id', '=', 'given.id'),
)

type PurgedPageRow = Record<'url_id' | 'purge_id', number>

const addPages = prepareRows<PurgedPageRow>(['url_id', 'purge_id'], (rows, db) =>
  db.insertInto('purge_pages').values(rows),
)

const addMissingPages = prepareRows<PurgedPageRow, { url_id: number }>(['url_id', 'purge_id'], (rows, db) =>
  db
    .insertInto('purge_pages')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning('url_id'),
)

interface PurgedPage {
  url: string
  /** The row number of the purge. */
  purge: number
}

/** Records which URLs purges removed or named, whose rows were added in this transaction. Pairs may repeat. `at` as for `addPurgedPages`. */
export async function addNewPurgedPages(
  transaction: RecordsTransaction,
  pages: readonly PurgedPage[],
  at: number,
): Promise<void> {
  await addPages.execute(transaction, await countPurgedPages(transaction, pages, at))
}

/** The same for purges from before; recorded pairs are not counted again. `at`: the time of the purges, in milliseconds since the epoch. */
export async function addPurgedPages(
  transaction: RecordsTransaction,
  pages: readonly PurgedPage[],
  at: number,
): Promise<void> {
  const pairs = await countPurgedPages(transaction, pages, at)
  const added = await addMissingPages.execute(transaction, pairs)
  if (added.length < pairs.length) await subtractRecorded(transaction, pairs, added)
}

/** Adds to the counts of the pages' URLs, each of which has few purges, mostly one. Returns the distinct pairs. */
async function countPurgedPages(
  transaction: RecordsTransaction,
  pages: readonly PurgedPage[],
  at: number,
): Promise<PurgedPageRow[]> {
  const purgesOf = new Map<string, number[]>()
  for (const { url, purge } of pages) {
    const purges = purgesOf.get(url)
    if (purges === undefined) purgesOf.set(url, [purge])
    else if (!purges.includes(purge)) purges.push(purge)
  }
  const urls = await countUrls.execute(
    transaction,
    Array.from(purgesOf, ([url, { length }]) => ({ url, purges: length, last_purged_at: at })),
  )
  const added: CountedUrl[] = []
  const pairs: PurgedPageRow[] = []
  for (const row of urls) {
    const purges = purgesOf.get(row.url)!
    if (row.purges === purges.length) added.push(row)
    for (const purge of purges) pairs.push({ url_id: row.id, purge_id: purge })
  }
  await moveTimes(transaction, urls, added, at)
  return pairs
}

/** Takes back the counts of pairs that were already recorded. */
async function subtractRecorded(
  transaction: RecordsTransaction,
  pairs: readonly { url_id: number }[],
  added: readonly { url_id: number }[],
): Promise<void> {
  const counts = new Map<number, number>()
  for (const { url_id } of pairs) counts.set(url_id, (counts.get(url_id) ?? 0) + 1)
  for (const { url_id } of added) counts.set(url_id, counts.get(url_id)! - 1)
  const rows = [...counts].flatMap(([id, purges]) => (purges === 0 ? [] : [{ id, purges }]))
  await subtractPurges.execute(transaction, rows)
}

/** Moves URLs to the hour of `at` that were `added`, or last purged in an earlier hour. */
async function moveTimes(
  transaction: RecordsTransaction,
  urls: readonly CountedUrl[],
  added: readonly CountedUrl[],
  at: number,
): Promise<void> {
  const hour = hourOf(at)
  const moves = new KeyMoves()
  const late = urls.filter(({ last_purged_at }) => hourOf(last_purged_at) < hour)
  for (const { last_purged_at } of late) moves.move(last_purged_at === 0 ? null : hourOf(last_purged_at), hour)
  for (const { last_purged_at } of added) if (last_purged_at === at) moves.move(null, hour)
  await setTimes.execute(
    transaction,
    late.map(({ id }) => ({ last_purged_at: at, id })),
  )
  await addToKeyHours(transaction, 'url', moves.changes)
}
