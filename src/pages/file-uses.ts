import type { Database, Statement } from 'better-sqlite3'
import { live, type StoredBody } from './page-reads.ts'

/** A live page and its body. */
export interface LivePage extends StoredBody {
  id: number
  key: string
}

/** How many live pages need a file, how many of its bytes, and its size; all 0 when none does. An empty body needs its file too. */
export interface FileUse {
  pages: number
  needed: number
  size: number
}

/** Which pages need the files of bodies. */
export class FileUses {
  readonly #hasQuery: Statement<[string], number>
  readonly #sumQuery: Statement<[string], FileUse>
  readonly #getPagesQuery: Statement<[string], LivePage>

  constructor(database: Database) {
    this.#hasQuery = database.prepare<[string], number>('SELECT 1 FROM page WHERE file = ? LIMIT 1').pluck()
    this.#sumQuery = database.prepare(
      `SELECT count(*) AS pages, coalesce(sum(p.size), 0) AS needed, coalesce(max(p.file_size), 0) AS size FROM page p
       WHERE p.file = ? AND ${live}`,
    )
    this.#getPagesQuery = database.prepare(
      `SELECT p.id, p.key, p.file, p.file_size AS fileSize, p.at, p.size, p.digest FROM page p
       WHERE p.file = ? AND ${live} ORDER BY p.at`,
    )
  }

  /** Whether any row, live or dead, references a file. */
  has(file: string): boolean {
    return this.#hasQuery.get(file) !== undefined
  }

  useOf(file: string): FileUse {
    return this.#sumQuery.get(file)!
  }

  /** The live pages whose bodies are in a file. */
  pages(file: string): LivePage[] {
    return this.#getPagesQuery.all(file)
  }
}
