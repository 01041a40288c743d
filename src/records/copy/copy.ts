import { sql } from 'kysely'
import { PagecacheError } from '../../errors.ts'
import { isPostgres } from '../locks.ts'
import type { Records } from '../records.ts'
import type { RecordsDatabase, RecordsTransaction } from '../schema.ts'
import { continueNumbers, readNumbers } from './numbers.ts'
import { Contents, insertRows, readPages } from './rows.ts'
import { listTables, type Table } from './tables.ts'

export interface CopiedTable {
  name: string
  rows: number
  /** Digest of its rows, the same in both databases. */
  digest: string
}

export interface CopyOptions {
  /** Throws where other processes use the source. */
  assertUnused(): Promise<void>
  onProgress(progress: { rows: number; total: number }): void
  signal: AbortSignal
}

/**
 * Copies all records into empty ones, reads them back and compares each table, in one transaction: after an error or a crash the target is
 * as empty as before.
 *
 * @throws WRONG_STATE where the target is not empty or the source is in use, CHECK_FAILED where the copy differs, and what the records throw
 */
export async function copyRecords(source: Records, target: Records, options: CopyOptions): Promise<CopiedTable[]> {
  const before = source.version()
  return target.db
    .transaction()
    .setIsolationLevel('read committed')
    .execute(async (transaction) => {
      const tables = await listTables(transaction)
      await lockTables(transaction, tables)
      for (const table of tables) await assertEmpty(transaction, table, target.name)
      const copied = await copyTables(source, { transaction, tables, options, target: target.name })
      const compared: CopiedTable[] = []
      for (const [table, { rows, digest }] of copied) {
        const contents = await readContents(transaction, table, options.signal)
        if (contents.digest !== digest || contents.rows !== rows) throw differs(table, target.name)
        compared.push({ name: table.name, rows, digest })
      }
      await forgetHistory(transaction)
      if (isPostgres(source.db) !== isPostgres(target.db)) await dropKeys(transaction)
      await options.assertUnused()
      // PostgreSQL has no such version; there, `assertUnused` counts the connections.
      if (!isPostgres(source.db) && source.version() !== before) throw changed(source.name)
      return compared
    })
}

interface Copying {
  transaction: RecordsTransaction
  tables: readonly Table[]
  /** How messages name it. */
  target: string
  options: CopyOptions
}

/** Reads from one snapshot of the source. */
function copyTables(source: Records, { transaction, tables, target, options }: Copying): Promise<Map<Table, Contents>> {
  const { signal, onProgress } = options
  return source.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (reader) => {
      assertSameTables(await listTables(reader), tables, `${source.name} and ${target}`)
      const total = await countRows(reader, tables)
      const copied = new Map<Table, Contents>()
      let rows = 0
      for (const table of tables) {
        const contents = new Contents(table)
        for await (const page of readPages(reader, table)) {
          signal.throwIfAborted()
          await insertRows(transaction, table, page)
          contents.add(page)
          onProgress({ rows: (rows += page.length), total })
        }
        copied.set(table, contents)
      }
      await continueNumbers(transaction, await readNumbers(reader))
      return copied
    })
}

async function readContents(db: RecordsDatabase, table: Table, signal: AbortSignal): Promise<Contents> {
  const contents = new Contents(table)
  for await (const page of readPages(db, table)) {
    signal.throwIfAborted()
    contents.add(page)
  }
  return contents
}

/**
 * Makes the first node of several remove all pages, and the others with it: they have kept their position in the order of purges, but
 * purges from the time in SQLite are not in it.
 */
async function forgetHistory(target: RecordsTransaction): Promise<void> {
  if (isPostgres(target)) await target.updateTable('cluster_clock').set({ history: '' }).execute()
}

/** With SQLite the keys are files: keys in the records are unused, and may have been dropped before the records go back to PostgreSQL. */
async function dropKeys(target: RecordsTransaction): Promise<void> {
  await target.deleteFrom('signing_keys').execute()
}

/** Keeps a daemon that is started too early from writing into the target. */
async function lockTables(transaction: RecordsTransaction, tables: readonly Table[]): Promise<void> {
  if (!isPostgres(transaction)) return
  const names = sql.join(tables.map(({ name }) => sql.table(name)))
  await sql`lock table ${names} in access exclusive mode`.execute(transaction)
  // Between two statements, rows of the source may be counted for longer than other transactions may pause.
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction)
}

async function assertEmpty(db: RecordsDatabase, { name }: Table, target: string): Promise<void> {
  const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db)
  if (rows.length === 0) return
  throw new PagecacheError('WRONG_STATE', `${target} is not empty: the table ${name} has rows`, {
    hint: 'Nothing was changed. Copy into an empty database.',
  })
}

function assertSameTables(source: readonly Table[], target: readonly Table[], both: string): void {
  const describe = (tables: readonly Table[]) =>
    JSON.stringify(tables.map(({ name, columns }) => [name, columns.toSorted()]).toSorted())
  if (describe(source) === describe(target)) return
  throw new PagecacheError('STORE_FOREIGN', `${both} have different tables`, {
    hint: 'Nothing was changed. Use databases that have nothing but the records.',
  })
}

async function countRows(db: RecordsDatabase, tables: readonly Table[]): Promise<number> {
  let total = 0
  for (const { name } of tables) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`.execute(db)
    total += rows[0]!.count
  }
  return total
}

function differs({ name }: Table, target: string): PagecacheError {
  return new PagecacheError('CHECK_FAILED', `The table ${name} in ${target} differs from its original`, {
    hint: 'Nothing was copied.',
  })
}

function changed(source: string): PagecacheError {
  return new PagecacheError('WRONG_STATE', `${source} was changed during the copy`, {
    hint: 'Nothing was copied. Stop every process that uses it, and try again.',
  })
}
