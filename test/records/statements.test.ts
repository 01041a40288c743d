import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import Database from 'better-sqlite3'
import { openRecords } from '../../src/records/open.ts'
import { prepare } from '../../src/records/statements.ts'
import { tempDir } from '../helpers/temp-dir.ts'

async function openSqlite() {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  await sql`CREATE TABLE sample (id text, n integer)`.execute(records.db)
  await sql`CREATE INDEX sample_n ON sample (n)`.execute(records.db)
  await sql`INSERT INTO sample VALUES ('a', 1), ('b', 2), ('c', 2), ('?', 3)`.execute(records.db)
  return records.db
}

const idsOf = prepare<{ n: number; most: number }, { id: string }>((db, { n, most }) => ({
  compile: () => sql<{ id: string }>`SELECT id FROM sample WHERE n = ${n} ORDER BY id LIMIT ${most}`.compile(db),
}))

it('prepared statements give SQLite no parameter to plan by, and the same rows as others', async () => {
  const db = await openSqlite()
  const prepared = vi.spyOn(Database.prototype, 'prepare')
  onTestFinished(() => prepared.mockRestore())
  expect((await idsOf(db, { n: 2, most: 5 })).rows).toEqual([{ id: 'b' }, { id: 'c' }])
  expect((await idsOf(db, { n: 2, most: 1 })).rows).toEqual([{ id: 'b' }])
  expect(prepared.mock.calls).toEqual([['SELECT id FROM sample WHERE n = +? ORDER BY id LIMIT +?']])
})

it('a prepared statement with a question mark in a literal is refused', async () => {
  const db = await openSqlite()
  const find = prepare<{ n: number }, { id: string }>((on, { n }) => ({
    compile: () => sql<{ id: string }>`SELECT id FROM sample WHERE n = ${n} AND id = '?'`.compile(on),
  }))
  await expect(async () => find(db, { n: 3 })).rejects.toThrow('A literal contains a question mark')
})
