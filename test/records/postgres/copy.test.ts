import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { copyRecords, type CopyOptions } from '../../../src/records/copy/copy.ts'
import { readPages, type Row } from '../../../src/records/copy/rows.ts'
import { listTables, type Table } from '../../../src/records/copy/tables.ts'
import { openRecords as openAny, type Records } from '../../../src/records/open.ts'
import { openRecords, testDatabase } from '../../helpers/records.ts'
import { execute } from '../../helpers/postgres.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { fill } from './fill.ts'

const options: CopyOptions = {
  assertUnused: async () => {},
  onProgress: () => {},
  signal: new AbortController().signal,
}

async function openSqlite(): Promise<Records> {
  const records = await openAny({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  return records
}

async function openPostgres(): Promise<Records> {
  const records = await openRecords({ directory: '', now: Date.now })
  onTestFinished(() => records.close())
  return records
}

async function readAll(db: Records['db'], table: Table): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(db, table)) rows.push(...page)
  return rows
}

const isEmpty = async ({ db }: Records) => {
  for (const table of await listTables(db)) if ((await readAll(db, table)).length > 0) return false
  return true
}

/** The number that the database gives to the next invalidation. */
async function nextNumber({ db }: Records): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into invalidations (created_at, source, scope) values (0, 'cli', 'all') returning id`.execute(db)
  return rows[0]!.id
}

it('copies every table to PostgreSQL and back, and goes on numbering', async () => {
  const [sqlite, postgres, again] = [await openSqlite(), await openPostgres(), await openSqlite()]
  const [few, many] = [4, 900]
  const tables = await fill(sqlite, few, many)
  // The last rows were deleted: their numbers are not given again.
  await sql`update sqlite_sequence set seq = 1000`.execute(sqlite.db)
  const totals: number[] = []
  const copied = await copyRecords(sqlite, postgres, {
    ...options,
    onProgress: ({ rows, total }) => totals.push(rows, total),
  })
  expect(copied.map(({ name }) => name).toSorted()).toEqual(tables.map(({ name }) => name).toSorted())
  const total = few * (tables.length - 1) + many
  expect(copied.map(({ rows }) => rows).toSorted((a, b) => a - b)).toEqual([...tables.slice(1).map(() => few), many])
  expect(totals.slice(-2)).toEqual([total, total])
  const isSame = ({ name }: { name: string }) => !['cluster_clock', 'signing_keys'].includes(name)
  expect(await copyRecords(postgres, again, options)).toEqual(expect.arrayContaining(copied.filter(isSame)))
  for (const table of tables.filter(isSame))
    expect(await readAll(again.db, table)).toEqual(await readAll(sqlite.db, table))
  expect([await nextNumber(postgres), await nextNumber(again)]).toEqual([1001, 1001])
})

it('changes nothing where the target is not empty, the copy differs, or another process comes', async () => {
  const [sqlite, postgres] = [await openSqlite(), await openPostgres()]
  await fill(sqlite, 5)
  const failing = (changed: Partial<CopyOptions>) => copyRecords(sqlite, postgres, { ...options, ...changed })

  const assertUnused = () => Promise.reject(new Error('another process'))
  await expect(failing({ assertUnused })).rejects.toThrow('another process')
  expect(await isEmpty(postgres)).toBe(true)

  const abort = new AbortController()
  await expect(failing({ signal: abort.signal, onProgress: () => abort.abort() })).rejects.toThrow(/abort/)
  expect(await isEmpty(postgres)).toBe(true)

  const { url } = testDatabase()!
  await execute(url, 'create function lose() returns trigger language plpgsql as $$ begin return null; end $$')
  await execute(url, 'create trigger lose before insert on api_clients for each row execute function lose()')
  try {
    await expect(failing({})).rejects.toMatchObject({
      code: 'CHECK_FAILED',
      message: expect.stringContaining('The table api_clients in PostgreSQL at') as string,
    })
  } finally {
    await execute(url, 'drop function lose cascade')
  }
  expect(await isEmpty(postgres)).toBe(true)

  await postgres.db.insertInto('sales_channel').values({ id: 'a', name: '', url: '' }).execute()
  await expect(failing({})).rejects.toMatchObject({ code: 'WRONG_STATE', exit: 3 })
  expect(await postgres.db.selectFrom('sales_channel').selectAll().execute()).toHaveLength(1)
})

it('refuses databases with different tables, and a source that was written meanwhile', async () => {
  const [sqlite, postgres, target] = [await openSqlite(), await openPostgres(), await openSqlite()]
  await fill(sqlite, 2)
  const write = () => sqlite.db.insertInto('sales_channel').values({ id: 'late', name: '', url: '' }).execute()
  const late = { ...options, assertUnused: async () => void (await write()) }
  await expect(copyRecords(sqlite, target, late)).rejects.toMatchObject({ code: 'WRONG_STATE' })
  await sqlite.db.schema
    .createTable('foreign_table')
    .addColumn('id', 'text', (id) => id.primaryKey())
    .execute()
  await expect(copyRecords(sqlite, postgres, options)).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
  expect(await isEmpty(postgres)).toBe(true)
})

it('copies texts with NUL characters, which PostgreSQL cannot store', async () => {
  const [sqlite, postgres] = [await openSqlite(), await openPostgres()]
  await sqlite.db.insertInto('sales_channel').values({ id: 'a', name: 'b\0c', url: '' }).execute()
  await copyRecords(sqlite, postgres, options)
  expect(await postgres.db.selectFrom('sales_channel').select('name').execute()).toEqual([{ name: 'b\u{fffd}c' }])
})

it('makes nodes remove pages from before the copy, whose purges have no number', async () => {
  const [postgres, sqlite] = [await openPostgres(), await openSqlite()]
  const clock = { id: 1, number: 5, floor: 0, history: 'server', settled: 'server' }
  await sqlite.db.insertInto('cluster_clock').values(clock).execute()
  await copyRecords(sqlite, postgres, options)
  expect(await postgres.db.selectFrom('cluster_clock').selectAll().execute()).toEqual([{ ...clock, history: '' }])
})

it('does not bring back signing keys that may have been dropped while the records were in SQLite', async () => {
  const [postgres, sqlite, again] = [await openPostgres(), await openSqlite(), await openSqlite()]
  const keys = ({ db }: Records) => db.selectFrom('signing_keys').selectAll().execute()
  await sqlite.db.insertInto('signing_keys').values({ number: 1, content: '{}' }).execute()
  await copyRecords(sqlite, postgres, options)
  expect(await keys(postgres)).toEqual([])
  await postgres.db.insertInto('signing_keys').values({ number: 1, content: '{}' }).execute()
  await copyRecords(postgres, again, options)
  expect(await keys(again)).toEqual([])
})

it('waits for a large source, in which counting the rows takes long', async () => {
  const [sqlite, postgres] = [await openSqlite(), await openPostgres()]
  await sqlite.db.insertInto('sales_channel').values({ id: 'a', name: '', url: '' }).execute()
  const { url } = testDatabase()!
  const check = "current_setting('idle_in_transaction_session_timeout') <> '0'"
  const body = `begin if ${check} then raise exception 'has a limit'; end if; return new; end`
  await execute(url, `create function check_limit() returns trigger language plpgsql as $$ ${body} $$`)
  await execute(
    url,
    'create trigger check_limit before insert on sales_channel for each row execute function check_limit()',
  )
  try {
    expect(await copyRecords(sqlite, postgres, options)).toContainEqual(
      expect.objectContaining({ name: 'sales_channel', rows: 1 }),
    )
  } finally {
    await execute(url, 'drop function check_limit cascade')
  }
})
