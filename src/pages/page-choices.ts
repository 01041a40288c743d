import type { Database, Statement } from 'better-sqlite3'
import { pageTypes, type PageType } from './page.ts'

export interface DeadPage {
  id: number
  file: string
}

export interface LeastUsed extends DeadPage {
  size: number
  /** 0 where its type was cleared since. */
  live: number
}

/**
 * Which pages go next, a slice at a time. What a slice takes leaves the index that the next one is read from,
 * so that taking n pages costs n steps and no list of them is ever held.
 */
export class PageChoices {
  readonly #takeTaggedQuery: Statement<[string, number], { tag_id: number; page_id: number }>
  readonly #dropTaggedQuery: Statement<[number, string]>
  readonly #getAtUrlsQuery: Statement<[string], number>
  readonly #getLeastUsedQuery: Statement<[number], LeastUsed>
  readonly #getExpiredQuery: Statement<[number, number], number>
  readonly #getDeadQuery: Statement<[PageType, PageType, number], DeadPage>
  readonly #dropLinksQuery: Statement<[string]>
  readonly #dropPagesQuery: Statement<[string]>
  readonly #dropUnusedTagsQuery: Statement<[number, number]>
  readonly #getLastTagQuery: Statement<[], number | null>

  constructor(database: Database) {
    this.#takeTaggedQuery = database.prepare(`
      SELECT l.tag_id, l.page_id FROM json_each(?) j CROSS JOIN tag t ON t.name = j.value
      CROSS JOIN page_tag l ON l.tag_id = t.id LIMIT ?`)
    this.#dropTaggedQuery = database.prepare(
      'DELETE FROM page_tag WHERE tag_id = ? AND page_id IN (SELECT value FROM json_each(?))',
    )
    this.#getAtUrlsQuery = database
      .prepare<[string], number>(
        'SELECT p.id FROM json_each(?) j CROSS JOIN page p ON p.url = j.value AND p.epoch >= 0',
      )
      .pluck()
    this.#getLeastUsedQuery = database.prepare(
      `SELECT p.id, p.size, p.file, p.epoch = s.epoch AS live FROM page p CROSS JOIN stat s ON s.type = p.type
       WHERE p.epoch >= 0 ORDER BY p.used_at, p.id LIMIT ?`,
    )
    this.#getExpiredQuery = database
      .prepare<[number, number], number>('SELECT id FROM page WHERE epoch >= 0 AND delete_at <= ? LIMIT ?')
      .pluck()
    this.#getDeadQuery = database.prepare(`
      SELECT id, file FROM page WHERE type = ? AND epoch < (SELECT epoch FROM stat WHERE type = ?) LIMIT ?`)
    this.#dropLinksQuery = database.prepare(
      'DELETE FROM page_tag WHERE page_id IN (SELECT value FROM json_each(?))',
    )
    this.#dropPagesQuery = database.prepare('DELETE FROM page WHERE id IN (SELECT value FROM json_each(?))')
    this.#dropUnusedTagsQuery = database.prepare(`
      DELETE FROM tag WHERE id BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM page_tag WHERE tag_id = tag.id)`)
    this.#getLastTagQuery = database.prepare<[], number | null>('SELECT max(id) FROM tag').pluck()
  }

  /** Takes up to `limit` pages off their tags; `more` says that others may bear them still. */
  takeTagged(tags: readonly string[], limit: number): { ids: number[]; more: boolean } {
    const links = this.#takeTaggedQuery.all(JSON.stringify(tags), limit)
    const byTag = Map.groupBy(links, (link) => link.tag_id)
    for (const [tag, own] of byTag) this.#dropTaggedQuery.run(tag, JSON.stringify(own.map((link) => link.page_id)))
    return { ids: [...new Set(links.map((link) => link.page_id))], more: links.length === limit }
  }

  atUrls(urls: readonly string[]): number[] {
    return this.#getAtUrlsQuery.all(JSON.stringify(urls))
  }

  leastUsed(limit: number): LeastUsed[] {
    return this.#getLeastUsedQuery.all(limit)
  }

  expired(now: number, limit: number): number[] {
    return this.#getExpiredQuery.all(now, limit)
  }

  dead(limit: number): DeadPage[] {
    for (const type of pageTypes) {
      const found = this.#getDeadQuery.all(type, type, limit)
      if (found.length > 0) return found
    }
    return []
  }

  /** Forgets dead pages whose bodies are gone. */
  drop(ids: readonly number[]): void {
    const list = JSON.stringify(ids)
    this.#dropLinksQuery.run(list)
    this.#dropPagesQuery.run(list)
  }

  lastTag(): number {
    return this.#getLastTagQuery.get() ?? 0
  }

  dropUnusedTags(first: number, last: number): void {
    this.#dropUnusedTagsQuery.run(first, last)
  }
}
