import type { Database, Statement } from 'better-sqlite3'
import type { Page } from './page.ts'

/** The tags of pages. Every method that changes them runs inside the caller's transaction. */
export class TagLinks {
  readonly #linkQuery: Statement<[string]>
  readonly #unlinkQuery: Statement<[number, string]>

  constructor(database: Database) {
    // One statement for all: each call from JavaScript takes longer than adding a link.
    this.#linkQuery = database.prepare(`
      INSERT INTO page_tag (tag, page_id) SELECT t.value, j.key FROM json_each(?) j CROSS JOIN json_each(j.value) t
      WHERE true ON CONFLICT DO NOTHING`)
    this.#unlinkQuery = database.prepare(
      'DELETE FROM page_tag WHERE page_id = ? AND tag IN (SELECT value FROM json_each(?))',
    )
  }

  /** Adds the tags of pages. */
  link(pages: readonly Pick<Page, 'id' | 'tags'>[]): void {
    const tagged = pages.filter(({ tags }) => tags.length > 0)
    if (tagged.length > 0)
      this.#linkQuery.run(JSON.stringify(Object.fromEntries(tagged.map(({ id, tags }) => [id, tags]))))
  }

  unlink({ id, tags }: Pick<Page, 'id' | 'tags'>): void {
    this.#unlinkQuery.run(id, JSON.stringify(tags))
  }
}
