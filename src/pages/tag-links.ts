import type { Database, Statement } from 'better-sqlite3'
import type { Page } from './page.ts'

/** The tags of pages. Every method that changes them runs inside the caller's transaction. */
export class TagLinks {
  readonly #addQuery: Statement<[string]>
  readonly #getQuery: Statement<[string], { id: number; name: string }>
  readonly #linkQuery: Statement<[number, number]>
  readonly #unlinkQuery: Statement<[number]>

  constructor(database: Database) {
    this.#addQuery = database.prepare(
      'INSERT INTO tag (name) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING',
    )
    this.#getQuery = database.prepare('SELECT t.id, t.name FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value')
    this.#linkQuery = database.prepare('INSERT INTO page_tag (tag_id, page_id) VALUES (?, ?) ON CONFLICT DO NOTHING')
    this.#unlinkQuery = database.prepare('DELETE FROM page_tag WHERE page_id = ?')
  }

  /** Adds the tags of pages; the pages of a group share the look-ups. */
  link(pages: readonly Pick<Page, 'id' | 'tags'>[]): void {
    const names = JSON.stringify([...new Set(pages.flatMap(({ tags }) => tags))])
    if (names === '[]') return
    let ids = this.#idsOf(names)
    if (pages.some(({ tags }) => tags.some((tag) => !ids.has(tag)))) {
      this.#addQuery.run(names)
      ids = this.#idsOf(names)
    }
    for (const { id, tags } of pages) for (const tag of tags) this.#linkQuery.run(ids.get(tag)!, id)
  }

  unlink(page: number): void {
    this.#unlinkQuery.run(page)
  }

  #idsOf(names: string): Map<string, number> {
    return new Map(this.#getQuery.all(names).map(({ id, name }) => [name, id]))
  }
}
