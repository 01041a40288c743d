import { randomInt, randomUUID } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { makeDirectory } from '../lib/make-directory.ts'
import { withErrorCode } from '../lib/with-error-code.ts'
import { evictionSchema } from './evictions.ts'
import { codeOf } from './faults.ts'
import { pageTypes } from './page.ts'
import { directoryMode, fileMode, newFresh, within, type Places } from './places.ts'

/** "pgch": identifies our index among SQLite files. */
const applicationId = 0x70676368
/**
 * Version 9: `dead_size`. Versions 7 and 8 were not released: keys are found by their URL, and the tags of a page by its record. Version 6:
 * small bodies share a file.
 */
const schemaVersion = 9

/**
 * A page is dead when its epoch differs from that of its type, or when `dead` lists it. Its body and then its rows are
 * removed later. Since the large rows of `page` and their indexes are untouched, purging many pages is cheap. A soft
 * purge lists pages in `stale` the same way. `trace`: removals whose URLs are still to be read (src/pages/traces.ts). `dead_size`: bytes of
 * the bodies of all dead pages.
 *
 * Each index whose order is not that of storing costs a new page a leaf of its own, written twice. Therefore `page_url`
 * also serves look-ups by key, and no index leads from a page to its tags (docs/decisions/0154-work-per-stored-page.md).
 */
const schema = `
  CREATE TABLE meta (generation TEXT NOT NULL, cleared INTEGER NOT NULL, floor INTEGER NOT NULL, trace INTEGER, dead_size INTEGER NOT NULL);
  CREATE TABLE stat (
    type TEXT PRIMARY KEY, epoch INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0,
    original_size INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0,
    generation_us INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0, hit_us INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE page (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key_hash INTEGER NOT NULL, type TEXT NOT NULL, epoch INTEGER NOT NULL,
    used_at INTEGER NOT NULL, hits INTEGER NOT NULL, hit_us INTEGER NOT NULL, size INTEGER NOT NULL,
    original_size INTEGER NOT NULL, generation_us INTEGER NOT NULL, cached_at INTEGER NOT NULL,
    delete_at INTEGER NOT NULL, seal INTEGER NOT NULL, digest BLOB NOT NULL, file TEXT NOT NULL,
    file_size INTEGER NOT NULL, at INTEGER NOT NULL, key TEXT NOT NULL, url TEXT NOT NULL, record TEXT NOT NULL
  );
  CREATE INDEX page_type ON page (type, epoch);
  CREATE INDEX page_url ON page (url, key_hash);
  CREATE INDEX page_used ON page (hits > 0, used_at);
  CREATE INDEX page_file ON page (file);
  CREATE INDEX page_delete ON page (delete_at);
  CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE page_tag (
    tag_id INTEGER NOT NULL, page_id INTEGER NOT NULL, PRIMARY KEY (tag_id, page_id)
  ) WITHOUT ROWID;
  CREATE TABLE dead (page_id INTEGER PRIMARY KEY, trace INTEGER, value INTEGER);
  CREATE INDEX dead_reapable ON dead (page_id) WHERE trace IS NULL;
  CREATE INDEX dead_traced ON dead (trace, page_id) WHERE trace IS NOT NULL;
  CREATE TABLE stale (page_id INTEGER PRIMARY KEY, at INTEGER NOT NULL, trace INTEGER, value INTEGER);
  CREATE INDEX stale_traced ON stale (trace, page_id) WHERE trace IS NOT NULL;
  CREATE TABLE trace (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT, epoch INTEGER);
  CREATE TABLE removal (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL);
`

/** The index file is not an index that this version can use. */
export class UnusableIndex extends Error {
  readonly code = 'SQLITE_NOTADB'
}

/**
 * Builds an empty page directory under a temporary name and moves it into place, so that no process sees an incomplete
 * one. Keeps the directory of a process that was faster.
 * @throws the system's error when nothing can be written
 */
export function createPages(places: Places): void {
  makeDirectory(places.directory, directoryMode)
  const fresh = within(places.directory, newFresh(places.directory))
  try {
    for (const path of [fresh.pages, fresh.bodies, fresh.temporary]) mkdirSync(path, { mode: directoryMode })
    closeSync(openSync(fresh.index, 'wx', fileMode))
    writeSchema(fresh.index)
    renameSync(fresh.pages, places.pages)
  } catch (error) {
    rmSync(fresh.pages, { recursive: true, force: true })
    if (!isTaken(codeOf(error))) throw error
  }
}

function isTaken(code: string | null): boolean {
  return code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR'
}

function writeSchema(path: string): void {
  const database = withErrorCode(() => new Database(path))
  try {
    // The new database holds nothing that a power cut could destroy; a torn file is detected at the next opening.
    database.pragma('synchronous = OFF')
    database.pragma('journal_mode = WAL')
    database.transaction(() => {
      database.exec(schema)
      database.prepare('INSERT INTO meta VALUES (?, 0, 0, NULL, 0)').run(randomUUID())
      const addType = database.prepare('INSERT INTO stat (type) VALUES (?)')
      for (const type of pageTypes) addType.run(type)
      // Page ids must not mean anything in another generation: each starts at a random value.
      database.prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('page', ?)`).run(randomInt(2 ** 20) * 2 ** 32)
      database.pragma(`application_id = ${applicationId}`)
      database.pragma(`user_version = ${schemaVersion}`)
    })()
  } finally {
    database.close()
  }
}

/** How long opening waits for another connection, in milliseconds. It blocks the event loop. */
const openingPatience = 50
/** How long a statement waits for another connection, in milliseconds. Callers pause between attempts. */
export const workingPatience = 1

/**
 * Opens an existing index.
 * @throws UnusableIndex, or SQLite's error
 */
export function openIndexFile(path: string, { readonly = false } = {}): Database.Database {
  if (!lstatSync(path).isFile()) throw new UnusableIndex('The page index is not a regular file')
  const options = { fileMustExist: true, timeout: openingPatience, readonly }
  const database = withErrorCode(() => new Database(path, options))
  try {
    if (database.pragma('application_id', { simple: true }) !== applicationId) {
      throw new UnusableIndex('The page index belongs to another program')
    }
    if (database.pragma('user_version', { simple: true }) !== schemaVersion) {
      throw new UnusableIndex('The page index was written by another version')
    }
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    database.pragma('temp_store = MEMORY')
    database.pragma('cache_size = -4000')
    database.pragma('journal_size_limit = 67108864')
    if (!readonly) addEvictions(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opening must not fail because another process is writing: without the table, evictions are not recorded. */
function addEvictions(database: Database.Database): void {
  if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'eviction_url'").get() !== undefined) return
  try {
    database.exec(evictionSchema)
  } catch (error) {
    if (codeOf(error)?.startsWith('SQLITE_') !== true) throw error
  }
}
