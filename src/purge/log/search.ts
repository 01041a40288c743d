import { setImmediate as nextTurn } from 'node:timers/promises'
import { contains } from '../../records/statements.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { purgeModes, readItems, type PurgeItem } from './purge-items.ts'
import { invalidationColumns, toInvalidationItem, type InvalidationItem } from './invalidation-log.ts'

/** What to search for, and how long. */
export interface Search {
  /** Words that an entry must contain. */
  text: string
  /** Only rows with lower numbers; null: from the newest row on. */
  before: number | null
  /** Entries to find, with those to skip. */
  most: number
  /** Entries to leave out, the newest ones. */
  skip?: number
  /** Milliseconds after which the search stops, wherever it is. */
  budget: number
  /** Monotonic milliseconds. */
  now(): number
  signal: AbortSignal
}

export interface Found<Item> {
  items: Item[]
  /** Entries that were found, with those that were skipped. */
  total: number
  /** Where to go on: a value for `before`. Null once the whole log was searched. */
  next: number | null
  /** The time of the oldest row that was looked at, as ISO 8601; null once the whole log was searched. */
  searchedTo: string | null
}

/** Finds purges by URL, tag, type, source, actor, mode and deliveries, newest first. */
export async function searchPurges(db: RecordsDatabase, search: Search): Promise<Found<PurgeItem>> {
  const words = wordsOf(search.text)
  const { ids, next } = await scanBack(db, 'purges', search, async (from, before, limit) => {
    let rows = db
      .selectFrom('purges as p')
      .leftJoin('purge_urls as u', 'u.id', 'p.url_id')
      .leftJoin('purge_tags as t', 't.id', 'p.tag_id')
      .leftJoin('invalidations as i', 'i.id', 'p.invalidation_id')
      .select('p.id')
      .where('p.id', '>=', from)
      .where('p.id', '<', before)
    for (const word of words)
      rows = rows.where(({ or, eb, exists, selectFrom }) =>
        or([
          ...spellingsOf(word).map((each) => contains('u.url', each)),
          ...['t.tag', 'p.value', 'p.source', 'p.kind', 'i.actor'].map((column) => contains(column, word)),
          eb('p.soft', 'in', modesOf(word)),
          exists(
            selectFrom('purge_deliveries as d')
              .select('d.purge_id')
              .whereRef('d.purge_id', '=', 'p.id')
              .where(or(['d.proxy', 'd.status'].map((column) => contains(column, word)))),
          ),
        ]),
      )
    return rows.orderBy('p.id', 'desc').limit(limit).execute()
  })
  const items = await readItems(db, ids.slice(search.skip ?? 0))
  return { items, total: ids.length, next, searchedTo: await timeOf(db, 'purges', next) }
}

/** Finds invalidations by what they name, source and actor, newest first. */
export async function searchInvalidations(db: RecordsDatabase, search: Search): Promise<Found<InvalidationItem>> {
  const words = wordsOf(search.text)
  const { ids, next } = await scanBack(db, 'invalidations', search, async (from, before, limit) => {
    let rows = db.selectFrom('invalidations').select('id').where('id', '>=', from).where('id', '<', before)
    for (const word of words)
      rows = rows.where(({ or }) =>
        or([
          ...spellingsOf(word).map((each) => contains('value', each)),
          ...['source', 'actor', 'scope'].map((column) => contains(column, word)),
        ]),
      )
    return rows.orderBy('id', 'desc').limit(limit).execute()
  })
  const shown = ids.slice(search.skip ?? 0)
  const rows = await db.selectFrom('invalidations').select(invalidationColumns).where('id', 'in', shown).execute()
  const items = rows.toSorted((one, other) => other.id - one.id).map(toInvalidationItem)
  return { items, total: ids.length, next, searchedTo: await timeOf(db, 'invalidations', next) }
}

function wordsOf(text: string): string[] {
  // PostgreSQL refuses NUL and lone surrogates.
  return text
    .toWellFormed()
    .split(/[\s\u0000]+/)
    .filter((word) => word !== '')
}

/** A word as it was typed, and as URLs have it. */
function spellingsOf(word: string): string[] {
  return [...new Set([word, encodeURI(word)])]
}

/** The modes whose names contain a word, as the log has them. */
function modesOf(word: string): number[] {
  return purgeModes.flatMap((mode, index) => (mode.includes(word.toLowerCase()) ? [index] : []))
}

/** Rows of the first slice, and the fewest and most of one. */
const [firstSlice, smallestSlice, largestSlice] = [500, 50, 5_000]
/** Duration of a slice in milliseconds: visitors of the same process wait for no longer one. */
const sliceTime = 5

/** Looks through rows from the newest to the oldest, slice by slice, with room for other work between two of them. */
async function scanBack(
  db: RecordsDatabase,
  table: 'purges' | 'invalidations',
  { before: start, most, budget, now, signal }: Search,
  read: (from: number, before: number, limit: number) => Promise<{ id: number }[]>,
): Promise<{ ids: number[]; next: number | null }> {
  const { first, last } = await db
    .selectFrom(table)
    .select(({ fn }) => [fn.min<number | null>('id').as('first'), fn.max<number | null>('id').as('last')])
    .executeTakeFirstOrThrow()
  const ids: number[] = []
  if (first === null || last === null) return { ids, next: null }
  const end = now() + budget
  let size = firstSlice
  for (let before = Math.min(start ?? Infinity, last + 1); before > first;) {
    if (ids.length >= most || now() >= end || signal.aborted) return { ids, next: before }
    await nextSlice()
    const began = now()
    const from = Math.max(first, before - size)
    const rows = await read(from, before, most - ids.length)
    ids.push(...rows.map(({ id }) => id))
    // A full answer may have left rows of the slice out.
    before = ids.length >= most ? rows.at(-1)!.id : from
    size = now() - began > sliceTime ? Math.max(smallestSlice, Math.floor(size / 2)) : Math.min(largestSlice, size * 2)
  }
  return { ids, next: null }
}

let slices: Promise<void> = Promise.resolve()

/** Resolves when the next slice may be read: one per turn of the event loop, however many searches there are. */
function nextSlice(): Promise<void> {
  return (slices = slices.then(() => nextTurn()))
}

async function timeOf(
  db: RecordsDatabase,
  table: 'purges' | 'invalidations',
  next: number | null,
): Promise<string | null> {
  if (next === null) return null
  const row = await db
    .selectFrom(table)
    .select('created_at')
    .where('id', '>=', next)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : new Date(row.created_at).toISOString()
}
