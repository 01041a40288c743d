import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type Pool, type PoolClient, type QueryResult as PgResult } from 'pg'
import {
  AbortedTransactionError,
  SelectQueryNode,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type IsolationLevel,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import { exhausted, isLostConnection, toPostgresError } from './errors.ts'
import { unsynced } from '../locks.ts'
import { repeat } from './repeat.ts'

/** How long a transaction may pause between two statements (milliseconds): a process that is frozen in one must not hold its locks for ever. */
const idleTimeout = 15_000
/** How long a statement waits for another transaction's lock (milliseconds): longer than a frozen process holds it. */
const lockTimeout = 20_000

/**
 * Begins a transaction in one round trip. Nothing is set for the session, so that a connection pooler may give each transaction another
 * one. Indexes are preferred because a scan of a table would conflict with every write to it (docs/decisions/0107-postgresql.md). That makes
 * the estimated cost of a scan so high that the server would compile each such statement, which takes longer than running it
 * (docs/decisions/0141-compiled-statements.md).
 */
function beginning(isolation: IsolationLevel = 'serializable'): string {
  const sync = isolation === unsynced ? '; set local synchronous_commit = off' : ''
  return `begin isolation level ${isolation}${sync}; set local lock_timeout = ${lockTimeout}; set local idle_in_transaction_session_timeout = ${idleTimeout}; set local enable_seqscan = off; set local jit = off`
}

export interface DriverOptions {
  pool: Pool
  /** Most connections of the pool. */
  size: number
  /** How long a caller waits for one of them, in milliseconds. */
  patience: number
  /** How messages name the database. */
  server: string
  /** Names statements that the server is to keep prepared; null behind a connection pooler, which may not know them. */
  nameOf: ((text: string) => string | undefined) | null
  /** Returns what to send behind a commit in the same round trip, such as `; notify x`, given the statements of the transaction. */
  afterCommit(statements: readonly string[]): string
  /** Called after the commit of a transaction, with the texts of its statements. */
  onCommit(statements: readonly string[]): void
}

/**
 * A Kysely driver over a pool of `pg`. Transactions are serializable, as they are in SQLite, single writes too; what conflicts with another
 * transaction or finds its connection closed is repeated where nothing of it was kept. Errors are thrown as PagecacheError.
 */
export class PostgresDriver implements Driver {
  readonly #options: DriverOptions

  constructor(options: DriverOptions) {
    this.#options = options
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(await connect(this.#options), this.#options)
  }

  beginTransaction(connection: DatabaseConnection, { isolationLevel }: TransactionSettings): Promise<void> {
    return (connection as PostgresConnection).begin(isolationLevel)
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as PostgresConnection).commit()
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as PostgresConnection).rollback()
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    ;(connection as PostgresConnection).release()
  }

  async destroy(): Promise<void> {
    await this.#options.pool.end()
  }
}

/** Takes a connection from the pool, or makes one. @throws STORE_BUSY while all are in use for too long */
function connect({ pool, size, patience, server }: DriverOptions): Promise<PoolClient> {
  return repeat(async () => {
    const waiting = pool.connect()
    const done = new AbortController()
    const tooLong = sleep(patience, null, { signal: done.signal, ref: false }).catch(() => null)
    try {
      const client = await Promise.race([waiting, tooLong])
      if (client !== null) return client
    } catch (error) {
      throw toPostgresError(error, server)
    } finally {
      done.abort()
    }
    void waiting.then((late) => late.release()).catch(() => {})
    throw exhausted(server, size)
  })
}

class Commit extends pg.Query {
  /** The server's answer to the first statement; empty before it. */
  end = ''

  /** Called by `pg` with the answer to each statement. */
  handleCommandComplete({ text }: { text: string }): void {
    this.end ||= text
  }
}

class PostgresConnection implements DatabaseConnection {
  /** Null where a broken connection was given back and there is no other one yet. */
  #client: PoolClient | null
  readonly #options: DriverOptions
  /** The statements of the open transaction; null outside of one. */
  #statements: string[] | null = null
  #isBroken = false

  constructor(client: PoolClient, options: DriverOptions) {
    this.#client = client
    this.#options = options
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#statements !== null) return this.#run<R>(query)
    return repeat(async () => {
      if (this.#isBroken) await this.#reconnect()
      return SelectQueryNode.is(query.query) ? this.#run<R>(query) : this.#alone<R>(query)
    })
  }

  async #reconnect(): Promise<void> {
    // Given back first: callers who kept theirs would wait for each other while the pool is exhausted.
    this.#client?.release(true)
    this.#client = null
    this.#client = await connect(this.#options)
    this.#isBroken = false
  }

  /** Runs one write in a transaction of its own: with a weaker isolation it could undo what transactions rely on. */
  async #alone<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    await this.begin()
    try {
      const result = await this.#run<R>(query)
      await this.commit()
      return result
    } catch (error) {
      await this.rollback()
      throw error
    }
  }

  async #run<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    this.#statements?.push(sql)
    const { command, rowCount, rows } = await this.#query(sql, parameters)
    return command === 'SELECT' ? { rows } : { rows, numAffectedRows: BigInt(rowCount ?? 0) }
  }

  async begin(isolation?: IsolationLevel): Promise<void> {
    try {
      await this.#query(beginning(isolation))
    } catch (error) {
      // Part of it may have succeeded.
      this.#isBroken = true
      throw error
    }
    this.#statements = []
  }

  async commit(): Promise<void> {
    const statements = this.#statements ?? []
    const end = await this.#commit(`commit${this.#options.afterCommit(statements)}`)
    this.#statements = null
    if (end === 'ROLLBACK') throw new AbortedTransactionError()
    this.#options.onCommit(statements)
  }

  /** Returns how the server has ended the transaction, even if a statement after the commit fails. */
  async #commit(text: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const commit = new Commit(text, (error?: Error | null) => (error ? reject(error) : resolve()))
    try {
      this.#client!.query(commit)
      await promise
    } catch (error) {
      this.#isBroken ||= isLostConnection(error)
      if (commit.end === '') throw toPostgresError(error, this.#options.server, false)
    }
    return commit.end
  }

  /** Never throws: the error that caused the rollback says more, and a server rolls back transactions of lost connections itself. */
  async rollback(): Promise<void> {
    if (this.#statements === null) return
    this.#statements = null
    if (!this.#isBroken) await this.#query('rollback').catch(() => (this.#isBroken = true))
  }

  release(): void {
    this.#client?.release(this.#isBroken)
  }

  async #query(text: string, values?: readonly unknown[], isSettled = true): Promise<PgResult> {
    try {
      if (values === undefined) return await this.#client!.query(text)
      const name = this.#options.nameOf?.(text)
      return await this.#client!.query({ text, values: values.map(storable), ...(name !== undefined && { name }) })
    } catch (error) {
      this.#isBroken ||= isLostConnection(error)
      throw toPostgresError(error, this.#options.server, isSettled)
    }
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not supported: read in pages instead')
  }
}

/** PostgreSQL stores no NUL character in a text. */
export function storable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\u{fffd}') : value
}
