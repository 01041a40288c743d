import { LRUCache } from 'lru-cache'
import type Database from 'better-sqlite3'
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely'
import { toRecordsError } from './faults.ts'
import type { Presence } from './presence.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/**
 * Kysely's SQLite dialect over one better-sqlite3 connection, different from the one that comes with
 * Kysely in four points: a transaction begins as BEGIN IMMEDIATE (a deferred one that turns from reading
 * to writing fails at once where another process wrote in between); a lock is waited for without blocking
 * the event loop; faults of the file are thrown as errors of ours; what would be written to a file that is lost is refused.
 */
export function sqliteDialect(database: Database.Database, file: string, presence: Presence): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database, file, presence),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

const commit = 'COMMIT'

class SqliteDriver implements Driver {
  readonly #database: Database.Database
  readonly #connection: SqliteConnection

  constructor(database: Database.Database, file: string, presence: Presence) {
    this.#database = database
    this.#connection = new SqliteConnection(database, file, presence)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('BEGIN IMMEDIATE'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(commit))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk or an I/O error has rolled back already; ROLLBACK would hide that error behind its own.
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw('ROLLBACK'))
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#database.close()
  }
}

/** Statements kept prepared; the program has a few dozen, and a few more where lists of values differ in length. */
const statementLimit = 200

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database.Database
  readonly #file: string
  readonly #presence: Presence
  readonly #statements = new LRUCache<string, Database.Statement>({ max: statementLimit })

  constructor(database: Database.Database, file: string, presence: Presence) {
    this.#database = database
    this.#file = file
    this.#presence = presence
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      if (!this.#database.inTransaction || query.sql === commit) this.#presence.assert()
      const result = await retryWhileBusy(() => this.#run<R>(query))
      // The files may have gone while it was written; nobody is told that it is durable.
      if (!this.#database.inTransaction) this.#presence.assert()
      return result
    } catch (error) {
      throw toRecordsError(error, this.#file)
    }
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Records are read in pages: an open cursor would hold back every checkpoint')
  }

  #run<R>(query: CompiledQuery): QueryResult<R> {
    const statement = this.#prepare(query.sql)
    if (statement.reader) return { rows: statement.all(query.parameters) as R[] }
    const { changes } = statement.run(query.parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }

  #prepare(text: string): Database.Statement {
    let statement = this.#statements.get(text)
    if (!statement) {
      statement = this.#database.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}
