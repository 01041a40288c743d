import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { dayLength } from '../lib/moment.ts'
import { withErrorCode } from '../lib/with-error-code.ts'
import { faultOf } from './faults.ts'
import { directoryMode, identityOf } from './places.ts'

/** "pgcl": identifies our ledger among SQLite files. */
const applicationId = 0x7067636c
/** How long memory is trusted, in milliseconds: another process may delete an entry. */
const believedFor = 5_000
const mostInMemory = 20_000
/** Pruning keeps this many of the newest entries, and none not renewed for `keptFor` milliseconds. */
const mostEntries = 200_000
const keptFor = 30 * dayLength
const renewedAfter = dayLength
/** Additions between two prunings. */
const pruneEvery = 1_000
/** How long the file is left alone after an error, in milliseconds. */
const restAfterFault = 5_000

/**
 * A set of short texts shared by the processes of a daemon, in a file that may vanish at any time. Without the file the
 * set is empty, except for what this process has in memory. Never throws a storage error.
 *
 * @param path null keeps everything in memory
 */
export class LedgerFile {
  readonly #path: string | null
  readonly #now: () => number
  readonly #memory = new LRUCache<string, true>({ max: mostInMemory, ttl: believedFor })
  /** Entries kept while there is no file. */
  readonly #kept = new LRUCache<string, true>({ max: mostInMemory })
  #open: {
    database: Database.Database
    identity: string | null
    find: Database.Statement<[string], number>
  } | null = null
  #restUntil = 0
  #additions = 0

  constructor(path: string | null, now: () => number) {
    this.#path = path
    this.#now = now
  }

  has(text: string): boolean {
    if (this.#memory.has(text)) return true
    const found =
      this.#try((database) => {
        const at = this.#open!.find.get(text)
        if (at !== undefined && this.#now() - at > renewedAfter)
          database.prepare('UPDATE entry SET at = ? WHERE text = ?').run(this.#now(), text)
        return at !== undefined
      }) ?? this.#kept.has(text)
    if (found) this.#memory.set(text, true)
    return found
  }

  add(text: string): void {
    this.#memory.set(text, true)
    this.#kept.set(text, true)
    this.#try((database) => {
      database
        .prepare('INSERT INTO entry (text, at) VALUES (?, ?) ON CONFLICT (text) DO UPDATE SET at = excluded.at')
        .run(text, this.#now())
      this.#additions += 1
      if (this.#additions % pruneEvery === 1) prune(database, this.#now())
    })
  }

  delete(text: string): void {
    this.#memory.delete(text)
    this.#kept.delete(text)
    this.#try((database) => database.prepare('DELETE FROM entry WHERE text = ?').run(text))
  }

  close(): void {
    this.#open?.database.close()
    this.#open = null
  }

  /** Undefined when there is no file or it is unusable now. */
  #try<T>(work: (database: Database.Database) => T): T | undefined {
    if (this.#path === null || performance.now() < this.#restUntil) return undefined
    try {
      return work(this.#database(this.#path))
    } catch (error) {
      if (faultOf(error) === null) throw error
      this.#restUntil = performance.now() + restAfterFault
      this.close()
      return undefined
    }
  }

  /** Opens the file currently at the path, which another process may have replaced. */
  #database(path: string): Database.Database {
    if (this.#open !== null && identityOf(path) === this.#open.identity) return this.#open.database
    this.close()
    mkdirSync(dirname(path), { recursive: true, mode: directoryMode })
    const database = openDatabase(path)
    const find = database.prepare<[string], number>('SELECT at FROM entry WHERE text = ?').pluck()
    this.#open = { database, identity: identityOf(path), find }
    return database
  }
}

/** @throws SQLite's error; SQLITE_NOTADB for another program's file */
function openDatabase(path: string): Database.Database {
  const database = withErrorCode(() => new Database(path, { timeout: 10 }))
  try {
    const id = database.pragma('application_id', { simple: true })
    if (id !== applicationId && id !== 0)
      throw Object.assign(new Error('The file belongs to another program'), { code: 'SQLITE_NOTADB' })
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = OFF')
    database.exec(
      'CREATE TABLE IF NOT EXISTS entry (text TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID; CREATE INDEX IF NOT EXISTS entry_at ON entry (at)',
    )
    database.pragma(`application_id = ${applicationId}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function prune(database: Database.Database, now: number): void {
  database.prepare('DELETE FROM entry WHERE at < ?').run(now - keptFor)
  database
    .prepare('DELETE FROM entry WHERE text IN (SELECT text FROM entry ORDER BY at DESC LIMIT -1 OFFSET ?)')
    .run(mostEntries)
}
