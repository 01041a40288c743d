import type { Database, Statement } from 'better-sqlite3'

/** Why the store removed a page by itself: the limit of all pages, a full disk, more variants than a URL may have, or its age. */
export type EvictionCause = 'size' | 'disk' | 'variants' | 'expired'

export interface Eviction {
  cause: EvictionCause
  /** Milliseconds since the epoch. */
  at: number
}

/** Evictions that are kept; older ones are dropped. */
const kept = 10_000

/**
 * The latest evictions, so that operators learn why a page is gone. Added to indexes of earlier versions without replacing them, because
 * nothing that is served depends on it.
 */
export const evictionSchema = `
  CREATE TABLE IF NOT EXISTS eviction (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, cause TEXT NOT NULL, at INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS eviction_url ON eviction (url);
`

export class Evictions {
  readonly #noteQuery: Statement<[EvictionCause, string]> | null
  readonly #pruneQuery: Statement<[number]> | null
  readonly #findQuery: Statement<[string], Eviction> | null

  constructor(database: Database) {
    const exists = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'eviction'").get() !== undefined
    this.#noteQuery = exists
      ? database.prepare(
          `INSERT INTO eviction (url, cause, at) SELECT p.url, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER)
           FROM json_each(?) j CROSS JOIN page p ON p.id = j.value`,
        )
      : null
    this.#pruneQuery = exists
      ? database.prepare('DELETE FROM eviction WHERE id <= (SELECT max(id) FROM eviction) - ?')
      : null
    this.#findQuery = exists
      ? database.prepare('SELECT cause, at FROM eviction WHERE url = ? ORDER BY id DESC LIMIT 1')
      : null
  }

  /** Records pages that are about to be evicted. Runs inside a write transaction. */
  note(ids: readonly number[], cause: EvictionCause): void {
    if (ids.length === 0) return
    this.#noteQuery?.run(cause, JSON.stringify(ids))
    this.#pruneQuery?.run(kept)
  }

  /** The last eviction of a page at a canonical URL. */
  find(url: string): Eviction | null {
    return this.#findQuery?.get(url) ?? null
  }
}
