import type { Database, Statement } from 'better-sqlite3'
import type { Counters } from './counters.ts'
import { EvictionOrder, type DeadPage, type LeastUsed } from './eviction-order.ts'
import { live, ofCurrentEpoch } from './page-reads.ts'
import { countedColumns, type CountedPage } from './page-writes.ts'
import { pageTypes, type PageType } from './page.ts'

/** The place of a page in the order of URLs. */
export interface PlaceByUrl {
  id: number
  url: string
  keyHash: number
}

/** A page of a cleared type, which is not current, is no longer live. A query without it could take long to find the next page. */
export interface TaggedPage extends CountedPage {
  isCurrent: number
}

/** Whether no soft purge waits for the URL of a page, whatever removed the page since. */
const isUnneeded = (id: string) =>
  `NOT EXISTS (SELECT 1 FROM stale z CROSS JOIN trace o ON o.id = z.trace WHERE z.page_id = ${id})`

/** Goes from trace to trace: an open one may have a million pages. */
const getReleased = `
  WITH RECURSIVE traced (trace) AS (
    SELECT min(trace) FROM dead WHERE trace IS NOT NULL
    UNION ALL
    SELECT (SELECT min(trace) FROM dead WHERE trace > traced.trace) FROM traced WHERE traced.trace IS NOT NULL
  )
  SELECT d.page_id AS id, p.file
  FROM traced t CROSS JOIN dead d ON d.trace = t.trace CROSS JOIN page p ON p.id = d.page_id
  WHERE NOT EXISTS (SELECT 1 FROM trace WHERE id = t.trace) AND ${isUnneeded('d.page_id')} LIMIT +?`

/** Selects the next pages to remove in slices, so that no complete list is ever in memory. */
export class PageChoices {
  readonly #counters: Counters
  readonly #getTagsQuery: Statement<[string], { value: number; id: number }>
  readonly #getTaggedQuery: Statement<[number, number, number], TaggedPage>
  readonly #getAtUrlsQuery: Statement<[string], CountedPage & { value: number }>
  readonly #getUrlsQuery: Statement<[string, number, number, number], PlaceByUrl>
  readonly #evictionOrder: EvictionOrder
  readonly #getExpiredQuery: Statement<[number, number], number>
  readonly #getExpiredFilesQuery: Statement<[number, number], DeadPage>
  readonly #getUntracedQuery: Statement<[number], DeadPage>
  readonly #getReleasedQuery: Statement<[number], DeadPage>
  readonly #getClearedQuery: Statement<[PageType, PageType, PageType, number], DeadPage>
  readonly #sumSizesQuery: Statement<[string], number>
  readonly #dropDeadQuery: Statement<[string]>
  readonly #dropStaleQuery: Statement<[string]>
  readonly #dropLinksQuery: Statement<[string]>
  readonly #dropPagesQuery: Statement<[string]>
  readonly #dropUnusedTagsQuery: Statement<[number, number]>
  readonly #getLastTagQuery: Statement<[], number | null>

  constructor(database: Database, counters: Counters) {
    this.#counters = counters
    this.#getTagsQuery = database.prepare(
      'SELECT j.key AS value, t.id FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value',
    )
    this.#getTaggedQuery = database.prepare(`
      SELECT ${countedColumns}, ${ofCurrentEpoch} AS isCurrent FROM page_tag l CROSS JOIN page p ON p.id = l.page_id
      WHERE l.tag_id = +? AND l.page_id > +? AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = l.page_id)
      ORDER BY l.page_id LIMIT +?`)
    this.#getAtUrlsQuery = database.prepare(
      `SELECT j.key AS value, ${countedColumns} FROM json_each(?) j CROSS JOIN page p ON p.url = j.value AND ${live}`,
    )
    this.#getUrlsQuery = database.prepare(
      `SELECT id, url, key_hash AS keyHash FROM page WHERE (url, key_hash, id) > (?, ?, ?)
       ORDER BY url, key_hash, id LIMIT ?`,
    )
    this.#evictionOrder = new EvictionOrder(database)
    this.#getExpiredQuery = database
      .prepare<[number, number], number>(
        'SELECT id FROM page WHERE delete_at <= ? AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = page.id) LIMIT ?',
      )
      .pluck()
    this.#getExpiredFilesQuery = database.prepare(
      'SELECT id, file FROM page WHERE delete_at <= ? AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = page.id) LIMIT ?',
    )
    this.#getUntracedQuery = database.prepare(`
      SELECT d.page_id AS id, p.file FROM dead d CROSS JOIN page p ON p.id = d.page_id
      WHERE d.trace IS NULL AND ${isUnneeded('d.page_id')} LIMIT +?`)
    this.#getReleasedQuery = database.prepare(getReleased)
    this.#getClearedQuery = database.prepare(`
      SELECT id, file FROM page WHERE type = +? AND epoch <
        coalesce((SELECT min(epoch) FROM trace WHERE type = +?), (SELECT epoch FROM stat WHERE type = +?))
        AND ${isUnneeded('page.id')} LIMIT +?`)
    this.#sumSizesQuery = database
      .prepare<[string], number>(
        'SELECT coalesce(sum(p.size), 0) FROM json_each(?) j CROSS JOIN page p ON p.id = j.value',
      )
      .pluck()
    this.#dropDeadQuery = database.prepare('DELETE FROM dead WHERE page_id IN (SELECT value FROM json_each(?))')
    this.#dropStaleQuery = database.prepare('DELETE FROM stale WHERE page_id IN (SELECT value FROM json_each(?))')
    this.#dropLinksQuery = database.prepare(`
      DELETE FROM page_tag WHERE (tag_id, page_id) IN (
        SELECT t.id, p.id FROM json_each(?) j CROSS JOIN page p ON p.id = j.value
        CROSS JOIN json_each(p.record, '$.tags') n CROSS JOIN tag t ON t.name = n.value)`)
    this.#dropPagesQuery = database.prepare('DELETE FROM page WHERE id IN (SELECT value FROM json_each(?))')
    this.#dropUnusedTagsQuery = database.prepare(`
      DELETE FROM tag WHERE id BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM page_tag WHERE tag_id = tag.id)`)
    this.#getLastTagQuery = database.prepare<[], number | null>('SELECT max(id) FROM tag').pluck()
  }

  /** The known tags among those given, with their index in the list. */
  knownTags(tags: readonly string[]): { value: number; id: number }[] {
    return this.#getTagsQuery.all(JSON.stringify(tags))
  }

  /** The next pages with a tag, by id, without dead ones. */
  tagged(tag: number, after: number, limit: number): TaggedPage[] {
    return this.#getTaggedQuery.all(tag, after, limit)
  }

  /** The live pages at URLs, with the index of their URL in the list. */
  atUrls(urls: readonly string[]): (CountedPage & { value: number })[] {
    return this.#getAtUrlsQuery.all(JSON.stringify(urls))
  }

  /** The next pages by URL, including dead ones. */
  byUrl({ url, keyHash, id }: PlaceByUrl, limit: number): PlaceByUrl[] {
    return this.#getUrlsQuery.all(url, keyHash, id, limit)
  }

  /** The next pages to evict. */
  leastUsed(limit: number): LeastUsed[] {
    return this.#evictionOrder.next(limit)
  }

  /** The pages that are missed least: expired ones first, then those of `leastUsed`. */
  leastUseful(now: number, limit: number): DeadPage[] {
    const found = this.#getExpiredFilesQuery.all(now, limit)
    if (found.length >= limit) return found
    const expired = new Set(found.map((page) => page.id))
    return [...found, ...this.leastUsed(limit).filter((page) => !expired.has(page.id))].slice(0, limit)
  }

  expired(now: number, limit: number): number[] {
    return this.#getExpiredQuery.all(now, limit)
  }

  /**
   * The next dead pages whose bodies and rows may be removed, of all kinds: on a full disk only removing their bodies
   * frees the space to delete their rows.
   */
  dead(limit: number): DeadPage[] {
    const found = this.#getUntracedQuery.all(limit)
    if (found.length < limit) found.push(...this.#getReleasedQuery.all(limit - found.length))
    for (const type of pageTypes) {
      if (found.length < limit) found.push(...this.#getClearedQuery.all(type, type, type, limit - found.length))
    }
    return found
  }

  /** Deletes the rows of dead pages. */
  drop(ids: readonly number[]): void {
    const list = JSON.stringify(ids)
    this.#counters.addDead(-this.#sumSizesQuery.get(list)!)
    for (const query of [this.#dropLinksQuery, this.#dropPagesQuery, this.#dropStaleQuery, this.#dropDeadQuery])
      query.run(list)
  }

  lastTag(): number {
    return this.#getLastTagQuery.get() ?? 0
  }

  dropUnusedTags(first: number, last: number): void {
    this.#dropUnusedTagsQuery.run(first, last)
  }
}
