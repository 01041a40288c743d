import { DummyDriver, Kysely, PostgresAdapter, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Migration } from '../../src/records/migrate.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import { RecordsCompiler } from '../../src/records/postgres/compiler.ts'

/** Later steps may run while nodes of the version before use the database. */
const frozen = '0016-stage-looks'

const databases = {
  SQLite: { createAdapter: () => new SqliteAdapter(), createQueryCompiler: () => new SqliteQueryCompiler() },
  PostgreSQL: { createAdapter: () => new PostgresAdapter(), createQueryCompiler: () => new RecordsCompiler() },
}

/** The statements of a step, without running them: those that depend on rows see none. */
async function statementsOf({ up }: Migration, database: keyof typeof databases): Promise<string[]> {
  const statements: string[] = []
  const db = new Kysely<unknown>({
    dialect: {
      ...databases[database],
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    },
    log: ({ query }) => void statements.push(query.sql.replaceAll(/\s+/g, ' ').trim()),
  })
  await up(db)
  return statements
}

/** Whether a node that does not know of the change can go on with its statements. */
function isAdditive(statement: string, own: readonly string[]): boolean {
  const text = statement.toLowerCase()
  const table = /^(?:create table(?: if not exists)?|alter table|create (?:unique )?index \S+ on) "?(\w+)"?/.exec(
    text,
  )?.[1]
  // PostgreSQL lets a replaced view keep all of its columns.
  if (/^(?:select|create (?:table|index|(?:or replace )?view|function))\b/.test(text)) return true
  // On a table that older nodes do not know, everything is allowed.
  if (table !== undefined && own.includes(table)) return true
  if (/^insert into\b/.test(text)) return true
  return /^alter table \S+ add column\b/.test(text) && (/\bdefault\b/.test(text) || !/\bnot null\b/.test(text))
}

function findBreaking(statements: readonly string[]): string[] {
  const own = statements.flatMap(
    (statement) => /^create table(?: if not exists)? "?(\w+)"?/i.exec(statement)?.[1] ?? [],
  )
  return statements.filter((statement) => !isAdditive(statement, own))
}

describe.each(['SQLite', 'PostgreSQL'] as const)('on %s', (database) => {
  it(`the steps after ${frozen} only add to the schema`, async () => {
    const from = migrations.findIndex(({ name }) => name === frozen)
    expect(from).toBeGreaterThan(0)
    for (const step of migrations.slice(from + 1))
      expect([step.name, findBreaking(await statementsOf(step, database))]).toEqual([step.name, []])
  })

  it('finds what would break older nodes, and nothing else', async () => {
    const breaking = (up: Migration['up']) => statementsOf({ name: '', up }, database).then(findBreaking)
    const none = await breaking(async ({ schema }) => {
      await schema
        .createTable('fresh')
        .addColumn('id', 'integer', (id) => id.primaryKey().notNull())
        .execute()
      await schema.createIndex('fresh_id').unique().on('fresh').columns(['id']).execute()
      await schema.createIndex('old_name').on('old').columns(['name']).execute()
      await schema.alterTable('old').addColumn('more', 'text').execute()
      await schema
        .alterTable('old')
        .addColumn('flag', 'integer', (flag) => flag.notNull().defaultTo(0))
        .execute()
    })
    expect(none).toEqual([])
    const all: Migration['up'][] = [
      ({ schema }) => schema.dropTable('old').execute(),
      ({ schema }) => schema.dropIndex('old_name').execute(),
      ({ schema }) => schema.alterTable('old').dropColumn('name').execute(),
      ({ schema }) => schema.alterTable('old').renameColumn('name', 'title').execute(),
      ({ schema }) => schema.alterTable('old').renameTo('other').execute(),
      ({ schema }) =>
        schema
          .alterTable('old')
          .addColumn('must', 'text', (must) => must.notNull())
          .execute(),
      ({ schema }) => schema.createIndex('old_only').unique().on('old').columns(['name']).execute(),
      async (db) => void (await db.deleteFrom('old').execute()),
      async (db) => void (await db.updateTable('old').set({ name: '' }).execute()),
    ]
    for (const up of all) expect(await breaking(up)).toHaveLength(1)
  })
})
