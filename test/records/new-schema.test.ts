import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { newSchemaFile, statementsOf } from '../../scripts/new-schema.ts'
import type { Migration } from '../../src/records/migrate.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import { openRecords } from '../../src/records/open.ts'
import { ensureRecordsFile } from '../../src/records/records-file.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** Opens and closes the records. Without `steps`: as the product does. Returns the path of the file. */
async function open(directory: string, steps?: readonly Migration[]): Promise<string> {
  const records = await openRecords({ directory, now: Date.now, ...(steps && { migrations: steps }) })
  await records.close()
  return records.name
}

/** Everything in a database: its schema, its version and its rows. */
function contentOf(file: string) {
  const database = new Database(file, { readonly: true })
  const tables = database.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all()
  const rows = tables.map((table) => [table, database.prepare(`SELECT * FROM "${table}"`).all()])
  const settings = ['application_id', 'user_version', 'page_size', 'auto_vacuum', 'encoding', 'journal_mode']
  const pragmas = settings.map((name) => database.pragma(name, { simple: true }))
  database.close()
  return { statements: statementsOf(file), tables: tables.toSorted(), rows: rows.toSorted(), pragmas }
}

it('the file is generated from the migrations', async () => {
  const source = new URL('../../src/records/migrations/new-schema.ts', import.meta.url)
  expect(readFileSync(source, 'utf8'), 'if a migration was added: npm run snapshot').toBe(await newSchemaFile())
})

it('a new database is what the migrations make of an empty one', async () => {
  const migrated = await open(await tempDir(), [...migrations])
  expect(contentOf(await open(await tempDir()))).toEqual(contentOf(migrated))
})

it.each([0, 1, migrations.length - 1])('migrations after the first %i run on a new database', async (version) => {
  const older = await open(await tempDir(), migrations.slice(0, version))
  const directory = join(await tempDir(), 'data')
  const schema = { version, statements: statementsOf(older).join(';') }
  expect(await ensureRecordsFile(directory, Date.now, schema)).toMatchObject({ isNew: true })
  expect(contentOf(join(directory, 'records.sqlite')).pragmas[1]).toBe(version)
  expect(contentOf(await open(directory))).toEqual(contentOf(await open(await tempDir(), [...migrations])))
})

it('the records say that they were empty before, and then that they were not', async () => {
  const directory = await tempDir()
  for (const before of [0, migrations.length]) {
    const records = await openRecords({ directory, now: Date.now })
    expect(records.schema).toEqual({ before, now: migrations.length })
    await records.close()
  }
})

it('records that cannot be created leave nothing behind', async () => {
  const directory = join(await tempDir(), 'data')
  const schema = { version: 1, statements: 'CREATE TABLE a (b); INSERT INTO missing VALUES (1)' }
  await expect(ensureRecordsFile(directory, Date.now, schema)).rejects.toThrow('missing')
  expect(readdirSync(directory)).toEqual([])
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return []
    }
  })
  expect(open.filter((path) => path.startsWith(directory))).toEqual([])
})
