import { expect, inject, it } from 'vitest'
import { migrations } from '../../../src/records/migrations/list.ts'
import type { Migration } from '../../../src/records/migrate.ts'
import { openRecords, type Records } from '../../../src/records/open.ts'
import { execute } from '../../helpers/postgres.ts'

/** Runs a test with an empty database of its own. */
async function withDatabase(test: (url: string) => Promise<void>): Promise<void> {
  const server = inject('postgres')!
  const name = `migrations_${process.env['VITEST_POOL_ID']}`
  await execute(server, `drop database if exists ${name} with (force)`)
  await execute(server, `create database ${name}`)
  await test(server.replace('/postgres?', `/${name}?`))
  await execute(server, `drop database ${name} with (force)`)
}

interface Opening {
  steps?: readonly Migration[]
  mayUpgrade?: boolean
}

async function open(url: string, { steps = migrations, mayUpgrade = false }: Opening = {}): Promise<Records> {
  const postgres = { url, listenUrl: null, pool: 2, mayUpgrade }
  return openRecords({ directory: '', postgres, now: Date.now, migrations: steps })
}

const openAndClose = (...options: Parameters<typeof open>) =>
  open(...options).then(async (records) => {
    await records.close()
    return records.schema
  })

it('of processes that start at once, one sets up the schema, and a step that fails leaves nothing', async () => {
  await withDatabase(async (url) => {
    let runs = 0
    const counting: Migration = { name: 'counting', up: async () => void (runs += 1) }
    const failing: Migration = { name: 'failing', up: () => Promise.reject(new Error('out of luck')) }
    await expect(open(url, { steps: [...migrations, failing] })).rejects.toThrow('out of luck')
    const { rows } = await execute(url, "select 1 from pg_tables where schemaname = 'public'")
    expect(rows).toEqual([])

    const steps = [...migrations, counting]
    await Promise.all([1, 2, 3].map(() => openAndClose(url, { steps })))
    expect(runs).toBe(1)
  })
})

it('an older schema is migrated only on request, while an older process goes on; that one cannot start again', async () => {
  await withDatabase(async (url) => {
    const old = await open(url)
    const newer: Migration = {
      name: 'newer',
      up: (db) => db.schema.alterTable('sales_channel').addColumn('more', 'text').execute(),
    }
    const steps = [...migrations, newer]
    await expect(open(url, { steps })).rejects.toMatchObject({
      code: 'STORE_OLDER',
      message: expect.stringMatching(
        new RegExp(
          `written by pagecache \\d[\\w.-]* \\(records version ${migrations.length}, needed ${steps.length}\\)`,
        ),
      ) as string,
      hint: expect.stringContaining('pagecache records:migrate') as string,
    })
    const insert = (id: string) => old.db.insertInto('sales_channel').values({ id, name: '', url: '' }).execute()
    await insert('a')
    const both = await Promise.all([1, 2].map(() => openAndClose(url, { steps, mayUpgrade: true })))
    expect(both.map(({ now }) => now)).toEqual([steps.length, steps.length])
    await insert('b')
    expect(await old.db.selectFrom('sales_channel').select('id').orderBy('id').execute()).toHaveLength(2)
    await old.close()
    await execute(url, "update pagecache_schema set writer = '9.9.9'")
    await expect(open(url, { mayUpgrade: true })).rejects.toMatchObject({
      code: 'STORE_NEWER',
      hint: 'Install pagecache 9.9.9 or later on this machine.',
    })
  })
})

it('knows the table of the version in its first form, without the name of the writer', async () => {
  await withDatabase(async (url) => {
    await openAndClose(url)
    await execute(url, 'alter table pagecache_schema drop column writer')
    const newer: Migration = { name: 'newer', up: async () => {} }
    const steps = [...migrations, newer]
    await expect(open(url, { steps })).rejects.toMatchObject({
      message: expect.stringContaining('an older pagecache') as string,
    })
    expect(await openAndClose(url, { steps, mayUpgrade: true })).toEqual({
      before: migrations.length,
      now: steps.length,
    })
  })
})
