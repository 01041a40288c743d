import type { Kysely } from 'kysely'
import type { PagecacheError } from '../errors.ts'
import type { RecordsSchema } from './schema.ts'

/** The database of all durable state: `var/data/<env>/records.sqlite`, or a PostgreSQL database. */
export interface Records {
  db: Kysely<RecordsSchema>
  /** How messages name the database; without credentials. */
  name: string
  /** The clock for the times in rows, in milliseconds since the epoch. */
  now: () => number
  /** Reads the whole file; returns SQLite's descriptions of damage, an empty list for an intact file. Takes seconds on a large file. PostgreSQL is only asked. */
  check(): Promise<string[]>
  /**
   * A value that changes with every commit of this or another process; reading it takes about a microsecond. With PostgreSQL it changes
   * with every call, so that nothing is believed that was read before.
   */
  version(): string
  /** A value that changes soon after the queue has changed. With PostgreSQL a change may be missed: workers poll too. */
  hint(): string
  /**
   * Calls the listener soon when the queue may have changed, or be about to; calls may be missing. Returns a function that ends it; null if
   * the system cannot watch for changes now.
   */
  watch(listener: () => void): (() => void) | null
  /** Whether other machines may use the database. */
  isShared: boolean
  /** Calls the listener soon after another process may have added a purge to the order of purges. Calls may be missing. Never with SQLite. */
  onPurge(listener: () => void): void
  /**
   * Moves the write-ahead log into the file and truncates it, so that neither contains deleted rows. False if readers on other
   * connections kept the log in use for five seconds. In PostgreSQL it vacuums the events.
   */
  truncateLog(): Promise<boolean>
  /** STORE_LOST if the file was deleted or replaced since it was opened, which blocks all writes; otherwise null. Takes a few microseconds. Always null with PostgreSQL. */
  fault(): PagecacheError | null
  /** The number of other processes that have the database open, as far as this one can see. */
  countUsers(): Promise<number>
  /** The versions of the schema before these records were opened, and since. */
  schema: { before: number; now: number }
  close(): Promise<void>
}

/** A PostgreSQL database (`records` in the configuration). */
export interface PostgresPlace {
  url: string
  /** A URL that does not lead through a connection pooler, for notifications; null: `url`. */
  listenUrl: string | null
  /** Most connections of one thread. */
  pool: number
  /** Whether to migrate a schema that an older version has made: nodes of that version may be using it. */
  mayUpgrade?: boolean
}

/** Where the records are. */
export interface RecordsPlace {
  /** The directory of SQLite's file. */
  directory: string
  /** The database to use instead. */
  postgres?: PostgresPlace | null | undefined
}

/** The same place for a thread with few transactions at a time. */
export function forThread({ directory, postgres = null }: RecordsPlace, connections: number): RecordsPlace {
  return { directory, postgres: postgres && { ...postgres, pool: Math.min(postgres.pool, connections) } }
}

/** @param settings `records` in the configuration */
export function toPlace(
  directory: string,
  settings: Omit<PostgresPlace, 'url'> & { url: string | null },
): RecordsPlace {
  const { url, listenUrl, pool, mayUpgrade = false } = settings
  return { directory, postgres: url === null ? null : { url, listenUrl, pool, mayUpgrade } }
}
