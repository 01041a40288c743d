import { setImmediate as nextTurn } from 'node:timers/promises'
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
  type SelectQueryNode,
  type TransactionSettings,
} from 'kysely'
import { toRecordsError } from './errors.ts'
import { unsynced } from './locks.ts'
import type { Presence } from './presence.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/**
 * A Kysely dialect over one better-sqlite3 connection. It differs from Kysely's own SQLite dialect in four points: transactions begin with
 * BEGIN IMMEDIATE, because a deferred one fails when it starts to write after another process has written; it waits for locks without
 * blocking the event loop; file errors are thrown as PagecacheError; writes to a lost file are refused.
 */
export function sqliteDialect(database: Database.Database, file: string, presence: Presence): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database, file, presence),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteCompiler(),
  }
}

/** Omits locks of rows (`for update`), which only PostgreSQL needs: here a transaction has the lock of the whole file. */
class SqliteCompiler extends SqliteQueryCompiler {
  protected override visitSelectQuery({ endModifiers: _, ...node }: SelectQueryNode): void {
    super.visitSelectQuery(node)
  }
}

const commit = 'COMMIT'

/** How long after the first query of a turn of the event loop others may follow, in milliseconds. The rest waits for the next turn. */
const mostPerTurn = 1

class SqliteDriver implements Driver {
  readonly #database: Database.Database
  readonly #connection: SqliteConnection

  constructor(database: Database.Database, file: string, presence: Presence) {
    this.#database = database
    this.#connection = new SqliteConnection(database, file, presence)
  }

  async init(): Promise<void> {}

  /** SQLite answers at once, so a chain of transactions would run in a single turn, while visitors wait. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (performance.now() - this.#connection.firstInTurn > mostPerTurn) await nextTurn()
    return this.#connection
  }

  async beginTransaction(connection: DatabaseConnection, { isolationLevel }: TransactionSettings): Promise<void> {
    this.#connection.isUnsynced = isolationLevel === unsynced
    await connection.executeQuery(CompiledQuery.raw('BEGIN IMMEDIATE'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(commit))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk or an I/O error has already rolled back; the error of a second ROLLBACK would hide it.
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw('ROLLBACK'))
  }

  /** Must not fail: the callers that wait for the connection would wait for ever. */
  async releaseConnection(): Promise<void> {
    this.#connection.isUnsynced = false
  }

  async destroy(): Promise<void> {
    this.#database.close()
  }
}

/** Most prepared statements kept. The program has a few dozen, more where lists of values vary in length. */
const statementLimit = 200

class SqliteConnection implements DatabaseConnection {
  readonly #database: Database.Database
  readonly #file: string
  readonly #presence: Presence
  readonly #statements = new LRUCache<string, Database.Statement>({ max: statementLimit })
  /** Whether the open transaction, or the one about to begin, need not wait for the disk. */
  isUnsynced = false
  /** When the first query of this turn of the event loop began, in milliseconds; `Infinity` before it. */
  firstInTurn = Infinity
  /** The setting of the connection, as it was opened. */
  #synchronous: 'FULL' | 'NORMAL' = 'FULL'

  constructor(database: Database.Database, file: string, presence: Presence) {
    this.#database = database
    this.#file = file
    this.#presence = presence
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      if (!this.#database.inTransaction || query.sql === commit) this.#presence.assert()
      const result = await retryWhileBusy(() => {
        this.#setSynchronous()
        return this.#run<R>(query)
      })
      // If the files were lost during the write, the caller must not believe that it is durable.
      if (!this.#database.inTransaction) this.#presence.assert()
      return result
    } catch (error) {
      throw toRecordsError(error, this.#file)
    }
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported: an open cursor would block checkpoints. Read in pages instead')
  }

  #run<R>(query: CompiledQuery): QueryResult<R> {
    if (this.firstInTurn === Infinity) {
      this.firstInTurn = performance.now()
      setImmediate(() => (this.firstInTurn = Infinity))
    }
    const statement = this.#prepare(query.sql)
    if (statement.reader) return { rows: statement.all(query.parameters) as R[] }
    const { changes } = statement.run(query.parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }

  /** Before a statement, so that none runs with the setting of another one. It cannot be changed inside a transaction. */
  #setSynchronous(): void {
    const wanted = this.isUnsynced ? 'NORMAL' : 'FULL'
    if (wanted === this.#synchronous || this.#database.inTransaction) return
    // Not a prepared statement: the setting takes effect when it is compiled.
    this.#database.exec(`PRAGMA synchronous = ${wanted}`)
    this.#synchronous = wanted
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
