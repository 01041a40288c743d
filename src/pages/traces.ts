import type { Database, Statement } from 'better-sqlite3'
import type { PageType } from './page.ts'
import { live } from './page-reads.ts'
import type { Taken } from './page-store.ts'

/** Rows released per transaction. */
const slice = 2_000

interface Trace {
  type: PageType | null
  epoch: number | null
}

/**
 * Removals whose URLs the purge log has not recorded yet. They are kept until it has, so that the flow of a page has every
 * purge of it, even after a crash. Pages in `dead` or `stale` carry their trace there; for a cleared type the trace covers
 * all pages of its previous epoch; for a cleared index, all of its pages.
 */
export class Traces {
  readonly #openQuery: Statement<[number, PageType | null, PageType | null, string]>
  readonly #getQuery: Statement<[number], Trace>
  readonly #getNamedQuery: Statement<[number, number, number, number, number, number], Taken>
  readonly #getOfTypeQuery: Statement<[PageType, number, number, number], Taken>
  readonly #getAllQuery: Statement<[number, number], Taken>
  readonly #freeStaleQuery: Statement<[string, number]>
  readonly #closeQuery: Statement<[string]>
  readonly #getOpenQuery: Statement<[number], number>

  constructor(database: Database) {
    this.#openQuery = database.prepare(
      `INSERT INTO trace (id, at, type, epoch) SELECT value, ?, ?, (SELECT epoch FROM stat WHERE type = ?) FROM json_each(?) WHERE true
       ON CONFLICT DO NOTHING`,
    )
    this.#getQuery = database.prepare('SELECT type, epoch FROM trace WHERE id = ?')
    this.#getNamedQuery = database.prepare(`
      SELECT id, value, url FROM (
        SELECT * FROM (SELECT d.page_id AS id, d.value, p.url FROM dead d CROSS JOIN page p ON p.id = d.page_id
          WHERE d.trace = +? AND d.page_id > +? ORDER BY d.page_id LIMIT +?)
        UNION ALL
        SELECT * FROM (SELECT z.page_id AS id, z.value, p.url FROM stale z CROSS JOIN page p ON p.id = z.page_id
          WHERE z.trace = +? AND z.page_id > +? ORDER BY z.page_id LIMIT +?)
      ) ORDER BY id`)
    this.#getOfTypeQuery = database.prepare(
      `SELECT p.id, 0 AS value, p.url FROM page p WHERE p.type = ? AND p.epoch = ? AND p.id > ?
         AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.page_id = p.id) ORDER BY p.id LIMIT ?`,
    )
    this.#getAllQuery = database.prepare(
      `SELECT p.id, 0 AS value, p.url FROM page p WHERE p.id > ? AND ${live} ORDER BY p.id LIMIT ?`,
    )
    this.#freeStaleQuery = database.prepare(
      `UPDATE stale SET trace = NULL WHERE page_id IN (
         SELECT page_id FROM stale WHERE trace IN (SELECT value FROM json_each(?)) LIMIT ?)`,
    )
    this.#closeQuery = database.prepare('DELETE FROM trace WHERE id IN (SELECT value FROM json_each(?))')
    this.#getOpenQuery = database.prepare<[number], number>('SELECT id FROM trace WHERE at < ?').pluck()
  }

  /** Opens traces. For a type one covers all its pages, and must be opened before the type is cleared. */
  open(traces: readonly number[], at: number, type: PageType | null): void {
    this.#openQuery.run(at, type, type, JSON.stringify(traces))
  }

  /** The next pages of a trace, by id; null if it is not open. */
  taken(trace: number, after: number, limit: number): Taken[] | null {
    const open = this.#getQuery.get(trace)
    if (open === undefined) return null
    const { type, epoch } = open
    if (type !== null && epoch !== null) return this.#getOfTypeQuery.all(type, epoch, after, limit)
    return this.#getNamedQuery.all(trace, after, limit, trace, after, limit).slice(0, limit)
  }

  /** The next live pages of a cleared index. */
  all(after: number, limit: number): Taken[] {
    return this.#getAllQuery.all(after, limit)
  }

  /** Releases a slice of traces; true when there is more to release. */
  release(traces: readonly number[]): boolean {
    const list = JSON.stringify(traces)
    if (this.#freeStaleQuery.run(list, slice).changes === slice) return true
    this.#closeQuery.run(list)
    return false
  }

  /** Traces that are not released. @param before milliseconds since the epoch: those that were opened earlier */
  unreleased(before: number): number[] {
    return this.#getOpenQuery.all(before)
  }
}
