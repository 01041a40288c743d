import type { Database, Statement } from 'better-sqlite3'
import type { Encoding, Page, PageDraft, PageType } from './page.ts'
import type { StoredHits } from './page-store.ts'
import { hitsOf, sealOf, storedColumns, toMicroseconds, toPage, toRecord, type PageRow } from './page-row.ts'
import type { Counters, Sums } from './counters.ts'
import { decayedHits } from './decayed-hits.ts'
import type { EvictionCause, Evictions } from './evictions.ts'
import { live, type StoredBody } from './page-reads.ts'
import { TagLinks } from './tag-links.ts'

/** The removal that removed a page, and the index of the tag or URL that selected it. */
export interface PlaceInTrace {
  trace: number
  value: number
}

/** The columns that locate a body. */
function columnsOf({ file, fileSize, at, size, digest }: StoredBody) {
  return { file, file_size: fileSize, at, size, digest }
}

type StoredRow = PageRow & { epoch: number; original_size: number; generation_us: number }

/** A page with what it adds to the counters of its type. */
export interface CountedPage extends Omit<Sums, 'count'> {
  id: number
  url: string
  type: PageType
}

/** The columns of a `CountedPage`. */
export const countedColumns =
  'p.id, p.url, p.type, p.original_size AS originalSize, p.size, p.generation_us AS generationUs, p.hits, p.hit_us AS hitUs'

/** Changes pages, their tags and counters. Every method runs inside the caller's transaction. */
export class PageWrites {
  readonly #counters: Counters
  readonly #getQuery: Statement<[number, string], StoredRow>
  readonly #freshenQuery: Statement<[Record<string, unknown>]>
  readonly #recodeQuery: Statement<[Record<string, unknown>]>
  readonly #getInFileQuery: Statement<[number, string], PageRow>
  readonly #relocateQuery: Statement<[Record<string, unknown>]>
  readonly #tags: TagLinks
  readonly #getLiveQuery: Statement<[string], CountedPage>
  readonly #evictions: Evictions
  readonly #buryQuery: Statement<[number | null, number | null, string]>
  readonly #stalenQuery: Statement<[number, number | null, number | null, string], number>
  readonly #copyTracedQuery: Statement<[number]>
  readonly #leaveStaleQuery: Statement<[number | bigint, number]>
  readonly #refreshQuery: Statement<[number]>
  readonly #hitQuery: Statement<[number, number, number, number], { type: PageType }>

  constructor(database: Database, counters: Counters, evictions: Evictions) {
    this.#counters = counters
    this.#evictions = evictions
    this.#getQuery = database.prepare(`
      SELECT p.* FROM page p WHERE p.id = ? AND p.key = ? AND ${live}`)
    this.#freshenQuery = database.prepare(`
      UPDATE page SET type = @type, epoch = @epoch, cached_at = @cached_at, delete_at = @delete_at, used_at = @used_at,
        record = @record, seal = @seal, hits = @hits, hit_us = @hit_us
      WHERE id = @id`)
    this.#recodeQuery = database.prepare(`
      UPDATE page SET size = @size, digest = @digest, file = @file, file_size = @file_size, at = @at, record = @record, seal = @seal WHERE id = @id`)
    this.#getInFileQuery = database.prepare(`SELECT p.* FROM page p WHERE p.id = ? AND p.file = ? AND ${live}`)
    this.#relocateQuery = database.prepare(
      'UPDATE page SET file = @file, file_size = @file_size, at = @at, seal = @seal WHERE id = @id',
    )
    this.#tags = new TagLinks(database)
    this.#getLiveQuery = database.prepare(
      `SELECT ${countedColumns} FROM page p WHERE p.id IN (SELECT value FROM json_each(?)) AND ${live}`,
    )
    this.#buryQuery = database.prepare(`
      INSERT INTO dead (page_id, trace, value) SELECT value, ?, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`)
    this.#stalenQuery = database
      .prepare<[number, number | null, number | null, string], number>(`
         INSERT INTO stale (page_id, at, trace, value) SELECT value, ?, ?, ? FROM json_each(?) WHERE true
         ON CONFLICT DO NOTHING RETURNING page_id`)
      .pluck()
    this.#copyTracedQuery = database.prepare(`
      INSERT INTO page (${storedColumns}) SELECT ${storedColumns} FROM page WHERE id = (
        SELECT z.page_id FROM stale z CROSS JOIN trace t ON t.id = z.trace WHERE z.page_id = ?)`)
    this.#leaveStaleQuery = database.prepare('UPDATE stale SET page_id = ? WHERE page_id = ?')
    this.#refreshQuery = database.prepare('DELETE FROM stale WHERE page_id = ?')
    this.#hitQuery = database.prepare(`
      UPDATE page AS p SET hits = hits + ?, hit_us = hit_us + ?, used_at = max(used_at, ?)
      WHERE p.id = ? AND ${live} RETURNING type`)
  }

  /** Makes pages dead, and records why. Returns how many were live. */
  evict(ids: readonly number[], cause: EvictionCause): number {
    this.#evictions.note(ids, cause)
    return this.kill(ids)
  }

  /** Updates the headers and times of a page and keeps its body. Null when the page was removed. */
  freshen(page: Page, draft: PageDraft, now: number): Page | null {
    const row = this.#getQuery.get(page.id, page.key)
    if (row === undefined) return null
    const stored = toPage(row)
    const { encoding, originalSize, generationMs, range } = stored
    const record = toRecord({ ...draft, encoding, originalSize, generationMs, range })
    const content = { ...row, type: draft.type, record }
    const kept = decayedHits(hitsOf(row), stored.cachedAt, draft.cachedAt)
    const renewed = { ...content, seal: sealOf(content), used_at: now, hits: kept.hits, hit_us: kept.hitUs }
    this.#refresh(row)
    this.#freshenQuery.run({
      id: row.id,
      type: draft.type,
      epoch: this.#counters.epoch(draft.type),
      record,
      seal: renewed.seal,
      cached_at: draft.cachedAt,
      delete_at: draft.deleteAt,
      used_at: now,
      hits: kept.hits,
      hit_us: kept.hitUs,
    })
    if (draft.type !== row.type || kept.hits !== row.hits) this.#recount(row, draft.type, kept)
    if (stored.tags.join('\0') !== draft.tags.join('\0')) {
      this.#tags.unlink(stored)
      this.#tags.link([{ id: row.id, tags: draft.tags }])
    }
    return toPage(renewed)
  }

  /**
   * Makes a page fresh. While a soft purge waits for its URL, a dead copy takes its place in the trace, so that further purges can make
   * the page stale again. Copies have the highest id, which no reader of the trace has passed.
   */
  #refresh({ id, size }: Pick<PageRow, 'id' | 'size'>): void {
    const { changes, lastInsertRowid: copy } = this.#copyTracedQuery.run(id)
    if (changes === 0) return void this.#refreshQuery.run(id)
    this.#leaveStaleQuery.run(copy, id)
    this.bury([{ id: Number(copy) }])
    this.#counters.addDead(size)
  }

  /** Replaces the body of a page by one in another coding. Null when the page was removed or its body replaced. */
  recode(page: Page, body: StoredBody, encoding: Encoding): Page | null {
    const row = this.#getQuery.get(page.id, page.key)
    if (row === undefined || row.size !== page.size) return null
    const record = toRecord({ ...toPage(row), encoding })
    const content = { ...row, ...columnsOf(body), record }
    const recoded = { ...content, seal: sealOf(content) }
    this.#recodeQuery.run({ ...columnsOf(body), id: row.id, record, seal: recoded.seal })
    const none = { count: 0, originalSize: 0, generationUs: 0, hits: 0, hitUs: 0 }
    this.#counters.add(row.type, { ...none, size: body.size - row.size })
    return toPage(recoded)
  }

  /** Records that a body is in another file. Does nothing when the page was removed or its body replaced. */
  relocate(id: number, from: string, body: StoredBody): void {
    const row = this.#getInFileQuery.get(id, from)
    if (row === undefined) return
    // A damaged row must not get a valid seal.
    toPage(row)
    const columns = columnsOf(body)
    this.#relocateQuery.run({ ...columns, id, seal: sealOf({ ...row, ...columns }) })
  }

  #recount(row: StoredRow, type: PageType, kept: Pick<Sums, 'hits' | 'hitUs'>): void {
    const { original_size: originalSize, size, generation_us: generationUs } = row
    const sums = { count: 1, originalSize, size, generationUs, ...hitsOf(row) }
    this.#counters.subtract(row.type, sums)
    this.#counters.add(type, { ...sums, ...kept })
  }

  /** Adds the tags of inserted pages. */
  link(pages: readonly Pick<Page, 'id' | 'tags'>[]): void {
    this.#tags.link(pages)
  }

  /** Makes pages dead that were not, and subtracts them from the counters. Returns how many these were. */
  kill(ids: readonly number[]): number {
    const pages = this.live(ids)
    this.bury(pages)
    this.uncount(pages)
    return pages.length
  }

  /** The pages among the given ones that are live. */
  live(ids: readonly number[]): CountedPage[] {
    return this.#getLiveQuery.all(JSON.stringify(ids))
  }

  /**
   * Makes live pages dead, but leaves them in the counters. Their bodies and rows are removed later, with a trace only after their URLs
   * were read.
   */
  bury(pages: readonly { id: number }[], place: PlaceInTrace | null = null): void {
    if (pages.length > 0) this.#buryQuery.run(place?.trace ?? null, place?.value ?? null, idsOf(pages))
  }

  /** Makes live pages stale from a time in milliseconds since the epoch. Returns those that were not stale before. */
  stalen<Page extends { id: number }>(pages: readonly Page[], at: number, place: PlaceInTrace | null): Page[] {
    const fresh = new Set(this.#stalenQuery.all(at, place?.trace ?? null, place?.value ?? null, idsOf(pages)))
    return pages.filter(({ id }) => fresh.has(id))
  }

  /** Subtracts pages that were made dead from the counters of live pages. */
  uncount(pages: readonly CountedPage[]): void {
    this.#counters.addDead(sizeOf(pages))
    for (const [type, same] of Map.groupBy(pages, (page) => page.type))
      this.#counters.subtract(type, {
        count: same.length,
        originalSize: same.reduce((sum, { originalSize }) => sum + originalSize, 0),
        size: sizeOf(same),
        generationUs: same.reduce((sum, { generationUs }) => sum + generationUs, 0),
        hits: same.reduce((sum, { hits }) => sum + hits, 0),
        hitUs: same.reduce((sum, { hitUs }) => sum + hitUs, 0),
      })
  }

  /** Adds hits to pages that are still live. */
  addHits(hits: readonly StoredHits[]): void {
    for (const { page, hits: count, ms, usedAt } of hits) {
      const hitUs = toMicroseconds(ms)
      const row = this.#hitQuery.get(count, hitUs, usedAt, page.id)
      if (row === undefined) continue
      this.#counters.add(row.type, { count: 0, originalSize: 0, size: 0, generationUs: 0, hits: count, hitUs })
    }
  }
}

function sizeOf(pages: readonly { size: number }[]): number {
  return pages.reduce((sum, { size }) => sum + size, 0)
}

function idsOf(pages: readonly { id: number }[]): string {
  return JSON.stringify(pages.map(({ id }) => id))
}
