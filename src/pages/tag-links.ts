import type { Database, Statement } from 'better-sqlite3'
import type { Page } from './page.ts'

interface Tag {
  id: number
  name: string
}

/** The tags of pages. Every method that changes them runs inside the caller's transaction. */
export class TagLinks {
  readonly #addQuery: Statement<[string], Tag>
  readonly #getQuery: Statement<[string], Tag>
  readonly #linkQuery: Statement<[string]>
  readonly #unlinkQuery: Statement<[number, string]>

  constructor(database: Database) {
    this.#addQuery = database.prepare('INSERT INTO tag (name) SELECT value FROM json_each(?) RETURNING id, name')
    this.#getQuery = database.prepare('SELECT t.id, t.name FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value')
    // One statement for all: each call from JavaScript takes longer than adding a link.
    this.#linkQuery = database.prepare(`
      INSERT INTO page_tag (tag_id, page_id) SELECT t.value, j.key FROM json_each(?) j CROSS JOIN json_each(j.value) t
      WHERE true ON CONFLICT DO NOTHING`)
    this.#unlinkQuery = database.prepare(`
      DELETE FROM page_tag WHERE page_id = ? AND tag_id IN (
        SELECT t.id FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value)`)
  }

  /** Adds the tags of pages; the pages of a group share the look-ups. */
  link(pages: readonly Pick<Page, 'id' | 'tags'>[]): void {
    const names = [...new Set(pages.flatMap(({ tags }) => tags))]
    if (names.length === 0) return
    const ids = new Map(this.#getQuery.all(JSON.stringify(names)).map(({ id, name }) => [name, id]))
    const added = names.filter((name) => !ids.has(name))
    if (added.length > 0) for (const { id, name } of this.#addQuery.all(JSON.stringify(added))) ids.set(name, id)
    const links = pages.map(({ id, tags }) => [id, tags.map((tag) => ids.get(tag)!)])
    this.#linkQuery.run(JSON.stringify(Object.fromEntries(links)))
  }

  unlink({ id, tags }: Pick<Page, 'id' | 'tags'>): void {
    this.#unlinkQuery.run(id, JSON.stringify(tags))
  }
}
