import type { Database, Statement } from 'better-sqlite3'
import type { Page, PageType } from './page.ts'
import type { PageFilter, PageSort, Selection } from './page-store.ts'
import { searchTagsOf, sharedAmongQueries } from './search-tags.ts'
import { columnsBesidesKey, hashKey, pageColumns, toPage, urlOf, type PageRow } from './page-row.ts'
import type { Counters } from './counters.ts'

/** Where a body is stored, and how to verify it. */
export interface StoredBody {
  file: string
  /** Bytes of the file, which never changes. */
  fileSize: number
  /** Offset in the file, in bytes: small bodies share a file. */
  at: number
  size: number
  digest: Buffer
}

/** A subquery, and rows sorted in JavaScript: a join with `stat` doubles the lookup time, ORDER BY quadruples it. */
export const ofCurrentEpoch = 'p.epoch = (SELECT s.epoch FROM stat s WHERE s.type = p.type)'
export const live = `${ofCurrentEpoch} AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = p.id)`

/** The upper bound of all texts that start with `text`. */
function endOfPrefix(text: string): string {
  return `${text}\u{10FFFF}`
}

/** A key in the index: its URL and its hash. */
export interface IndexedKey {
  url: string
  hash: number
}

export class PageReads {
  readonly #database: Database
  readonly #counters: Counters
  readonly #findQuery: Statement<[string, number, string, number], Omit<PageRow, 'key' | 'url'>>
  readonly #findByUrlQuery: Statement<[string], PageRow>
  readonly #sinceQuery: Statement<[number, number, string, number], { id: number; key: string }>
  #countOfFilesQuery: Statement<[string, number, number], number> | null = null
  readonly #lastPageQuery: Statement<[], number>
  #keysQuery: Statement<[string, number, number], IndexedKey> | null = null
  readonly #getBodyQuery: Statement<[number, string, number], StoredBody>
  readonly #tagsQuery: Statement<[string, string, number], string>
  readonly #countTagsQuery: Statement<[string], number>
  readonly #getTaggedQuery: Statement<[string, number, number], { id: number; url: string }>
  readonly #getHitsQuery: Statement<[string], { value: number; hits: number }>
  readonly #countUrlsQuery: Statement<[string, string], number>
  /** Knows hashes of keys under which there is no page; null: each look-up needs a query. */
  known: { mayHold(hash: number): boolean; stop(): void } | null = null
  /** The last look-up by key. */
  #found: { key: string; rows: readonly PageRow[]; pages: readonly Page[] } | null = null

  constructor(database: Database, counters: Counters) {
    this.#database = database
    this.#counters = counters
    this.#findQuery = database.prepare(`
      SELECT ${columnsBesidesKey} FROM page p WHERE p.url = ? AND p.key_hash = ? AND p.key = ? AND p.delete_at > ? AND ${live}`)
    this.#sinceQuery = database.prepare(`
      SELECT id, key FROM page WHERE id > ? AND id <= ? AND file NOT IN (SELECT value FROM json_each(?)) LIMIT ?`)
    this.#lastPageQuery = database.prepare<[], number>(`SELECT seq FROM sqlite_sequence WHERE name = 'page'`).pluck()
    this.#findByUrlQuery = database.prepare(`
      SELECT ${pageColumns} FROM page p WHERE p.url = ? AND ${live}`)
    this.#getBodyQuery = database.prepare(`
      SELECT p.file, p.file_size AS fileSize, p.at, p.size, p.digest FROM page p
      WHERE p.id = ? AND p.key = ? AND p.size = ? AND ${live}`)
    this.#tagsQuery = database
      .prepare<[string, string, number], string>(
        `SELECT t.name FROM tag t WHERE t.name >= ? AND t.name < ? AND t.name NOT LIKE '${sharedAmongQueries}%' AND EXISTS (
           SELECT 1 FROM page_tag l CROSS JOIN page p ON p.id = l.page_id AND ${live} WHERE l.tag_id = t.id)
         ORDER BY t.name LIMIT ?`,
      )
      .pluck()
    this.#countTagsQuery = database
      .prepare<[string], number>(
        `SELECT count(DISTINCT p.id) FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value
         CROSS JOIN page_tag l ON l.tag_id = t.id CROSS JOIN page p ON p.id = l.page_id AND ${live}`,
      )
      .pluck()
    this.#getTaggedQuery = database.prepare(
      `SELECT p.id, p.url FROM tag t CROSS JOIN page_tag l ON l.tag_id = t.id CROSS JOIN page p ON p.id = l.page_id
       WHERE t.name = ? AND l.page_id > ? AND ${live} ORDER BY l.page_id LIMIT ?`,
    )
    this.#getHitsQuery = database.prepare(
      `SELECT j.key AS value, sum(p.hits) AS hits FROM json_each(?) j CROSS JOIN page p ON p.url = j.value AND ${live}
       GROUP BY j.key`,
    )
    this.#countUrlsQuery = database
      .prepare<[string, string], number>(
        `SELECT count(*) FROM (
           SELECT p.id FROM json_each(?) j CROSS JOIN page p ON p.url = j.value AND ${live}
           UNION
           SELECT p.id FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value
           CROSS JOIN page_tag l ON l.tag_id = t.id CROSS JOIN page p ON p.id = l.page_id AND ${live})`,
      )
      .pluck()
  }

  /** Pages after an id and up to another, including dead ones, but without those in the named files. */
  since(page: number, last: number, files: readonly string[], most: number): { id: number; key: string }[] {
    const named = JSON.stringify(files)
    // Usually all are in these files. Their index tells that without the rows, which take long to read.
    if (files.length > 0 && this.#countInFiles(named, page, last) === last - page) return []
    return this.#sinceQuery.all(page, last, named, most)
  }

  #countInFiles(files: string, page: number, last: number): number | undefined {
    this.#countOfFilesQuery ??= this.#database
      .prepare<[string, number, number], number>(
        'SELECT count(*) FROM json_each(?) j CROSS JOIN page p ON p.file = j.value AND p.id > ? AND p.id <= ?',
      )
      .pluck()
    return this.#countOfFilesQuery.get(files, page, last)
  }

  /** The next keys after another, in the order of their index, including those of dead pages. */
  keysAfter({ url, hash }: IndexedKey, most: number): IndexedKey[] {
    this.#keysQuery ??= this.#database.prepare(`
      SELECT url, key_hash AS hash FROM page WHERE (url, key_hash) > (?, ?) ORDER BY url, key_hash LIMIT ?`)
    return this.#keysQuery.all(url, hash, most)
  }

  /** The id of the newest page ever stored. */
  lastPage(): number {
    return this.#lastPageQuery.get() ?? 0
  }

  /** A second look-up of a key needs no query until `forget` is called. */
  find(key: string, now: number): Page[] {
    if (this.#found?.key !== key) {
      const [hash, url] = [hashKey(key), urlOf(key)]
      const found = this.known?.mayHold(hash) === false ? [] : this.#findQuery.all(url, hash, key, now)
      const rows = found.map((row) => Object.assign(row, { key, url }))
      this.#found = { key, rows, pages: rows.map(toPage) }
    }
    const { pages } = this.#found
    return pages.length === 0 ? [] : pages.filter(({ deleteAt }) => deleteAt > now).sort(newestFirst)
  }

  /** Forgets the last look-up: other connections may have changed the index, or this one has. */
  forget(): void {
    this.#found = null
  }

  findByUrl(url: string): Page[] {
    return this.#findByUrlQuery.all(url).map(toPage).sort(newestFirst)
  }

  /** Null also when the body was compressed again since the page was read: it has another size and coding now. */
  body(page: Pick<Page, 'id' | 'key' | 'size'>): StoredBody | null {
    return this.#getBodyQuery.get(page.id, page.key, page.size) ?? null
  }

  /** The body of a page of the last look-up; null for other pages. */
  foundBody(page: Page): StoredBody | null {
    const row = this.#found?.rows[this.#found.pages.indexOf(page)]
    if (row === undefined) return null
    const { file, file_size: fileSize, at, size, digest } = row
    return { file, fileSize, at, size, digest }
  }

  tagged(tag: string, after: number, limit: number): { id: number; url: string }[] {
    return this.#getTaggedQuery.all(tag, after, limit)
  }

  hitsOf(urls: readonly string[]): number[] {
    const sums = urls.map(() => 0)
    for (const { value, hits } of this.#getHitsQuery.all(JSON.stringify(urls))) sums[value] = hits
    return sums
  }

  count(selection: Selection): number {
    switch (selection.kind) {
      case 'all':
        return this.#counters.totals().count
      case 'type':
        return this.#counters.all()[selection.type].count
      case 'tags':
        return this.#countTagsQuery.get(JSON.stringify(selection.tags)) ?? 0
      case 'urls':
        return (
          this.#countUrlsQuery.get(JSON.stringify(selection.urls), JSON.stringify(searchTagsOf(selection.urls))) ?? 0
        )
      case 'matching':
        throw new Error('A selection by pattern cannot be counted in one query')
    }
  }

  /** Newest first; with a URL prefix, by URL. */
  tags(beginning: string, limit: number): string[] {
    return this.#tagsQuery.all(beginning, endOfPrefix(beginning), limit)
  }

  list(filter: PageFilter): { total: number; items: Page[] } {
    const { from, parameters, order } = toQuery(filter)
    // The ids are sorted first: sorting whole rows takes several times as long.
    const ids = `SELECT p.id ${from} ORDER BY ${order} LIMIT ? OFFSET ?`
    const items = this.#database
      .prepare<unknown[], PageRow>(`SELECT ${pageColumns} FROM (${ids}) o CROSS JOIN page p ON p.id = o.id`)
      .all(...parameters, filter.limit, filter.offset)
    return { total: this.#total(filter, from, parameters), items: items.map(toPage) }
  }

  #total(filter: PageFilter, from: string, parameters: readonly string[]): number {
    if (filter.tag === undefined && filter.urlPrefix === undefined) {
      return this.count(filter.type === undefined ? { kind: 'all' } : { kind: 'type', type: filter.type })
    }
    const query = this.#database.prepare<unknown[], number>(`SELECT count(*) ${from}`).pluck()
    return query.get(...parameters) ?? 0
  }
}

function newestFirst(one: Page, other: Page): number {
  return other.cachedAt - one.cachedAt || other.id - one.id
}

function toQuery(filter: PageFilter): { from: string; parameters: string[]; order: string } {
  const { type, tag, urlPrefix } = filter
  const parameters: string[] = []
  let from = `FROM page p WHERE ${live}`
  let order = 'p.id DESC'
  if (tag !== undefined) {
    from = `FROM tag t CROSS JOIN page_tag l ON l.tag_id = t.id CROSS JOIN page p ON p.id = l.page_id WHERE t.name = ? AND ${live}`
    order = 'l.page_id DESC'
    parameters.push(tag)
  }
  if (type !== undefined) {
    from += ' AND p.type = ?'
    parameters.push(type satisfies PageType)
  }
  if (urlPrefix !== undefined) {
    from += ' AND p.url >= ? AND p.url < ?'
    order = 'p.url, p.id DESC'
    parameters.push(urlPrefix, endOfPrefix(urlPrefix))
  }
  return { from, parameters, order: filter.sort === undefined ? order : toOrder(filter.sort) }
}

function toOrder(sort: PageSort): string {
  const direction = sort.startsWith('-') ? 'DESC' : 'ASC'
  const column = { url: 'p.url', stored: 'p.id', hits: 'p.hits', size: 'p.size' }[sort.replace('-', '') as 'url']
  return `${column} ${direction}, p.id DESC`
}
