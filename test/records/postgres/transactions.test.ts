import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import { assertHeld, putBack } from '../../../src/queue/settle.ts'
import { openRecords as openAny } from '../../../src/records/open.ts'
import type { Records } from '../../../src/records/records.ts'
import { prepare, prepareRows } from '../../../src/records/statements.ts'
import { openRecords, testDatabase } from '../../helpers/records.ts'
import { execute } from '../../helpers/postgres.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { until } from '../../helpers/until.ts'
import { testQueue } from '../../queue/open-queue.ts'

async function open(): Promise<Records> {
  const records = await openRecords({ directory: '', now: Date.now })
  onTestFinished(() => records.close())
  return records
}

/** Lets the first `count` callers go on only when all of them have arrived. */
function barrier(count: number): () => Promise<void> {
  let arrived = 0
  return () => {
    arrived += 1
    return arrived > count ? Promise.resolve() : until(() => arrived >= count).then(() => {})
  }
}

it('of transactions that each write because of what they have read, one is repeated and sees the write of the other', async () => {
  const records = await open()
  const meet = barrier(2)
  let calls = 0
  const claim = (name: string) =>
    records.db.transaction().execute(async (transaction) => {
      calls += 1
      const { rows } = await sql`select 1 from sales_channel where name = 'only'`.execute(transaction)
      await meet()
      if (rows.length > 0) return false
      await transaction.insertInto('sales_channel').values({ id: name, name: 'only', url: '' }).execute()
      return true
    })
  expect((await Promise.all([claim('a'), claim('b')])).toSorted()).toEqual([false, true])
  expect(calls).toBe(3)
})

it('transactions that lock each other out are repeated until both are done', async () => {
  const records = await open()
  for (const id of ['a', 'b']) await records.db.insertInto('sales_channel').values({ id, name: '', url: '' }).execute()
  const meet = barrier(2)
  const rename = (first: string, second: string) =>
    records.db.transaction().execute(async (transaction) => {
      const set = (id: string) =>
        transaction.updateTable('sales_channel').set({ name: first }).where('id', '=', id).execute()
      await set(first)
      await meet()
      await set(second)
    })
  await Promise.all([rename('a', 'b'), rename('b', 'a')])
  const names = await records.db.selectFrom('sales_channel').select('name').execute()
  expect(new Set(names.map(({ name }) => name)).size).toBe(1)
})

it.each(['25P03', '25P04'])('a transaction that the server has ended with %s is repeated', async (code) => {
  const records = await open()
  let calls = 0
  await records.db.transaction().execute(async (transaction) => {
    calls += 1
    const end = sql.raw(`do $$ begin raise exception 'terminated: too long' using errcode = '${code}'; end $$`)
    if (calls === 1) await end.execute(transaction)
    await transaction.insertInto('sales_channel').values({ id: 'a', name: '', url: '' }).execute()
  })
  expect(calls).toBe(2)
})

it('statements that are compiled once are compiled for each kind of database', async () => {
  const sqlite = await openAny({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => sqlite.close())
  const rows = prepareRows<{ id: string; name: string; url: string }>(['id', 'name', 'url'], (some, db) =>
    db.insertInto('sales_channel').values(some),
  )
  const find = prepare<{ id: string }, { name: string }>((db, { id }) =>
    db.selectFrom('sales_channel').select('name').where('id', '=', id),
  )
  for (const { db } of [sqlite, await open(), sqlite]) {
    const id = randomUUID()
    await rows.execute(db, [{ id, name: 'name', url: '' }])
    expect((await find(db, { id })).rows).toEqual([{ name: 'name' }])
  }
})

it('a message that is put back while another process queues one with its key replaces it', async () => {
  const { records, queue, now } = await testQueue()
  const message = { transport: 'async', type: 'deliver', payload: null, key: 'deliver:varnish' } as const
  await queue.dispatch([message])
  const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['deliver'] })
  const [held] = await worker.claim(new Map([['deliver', 1]]), 1)
  let calls = 0
  await records.db.transaction().execute(async (transaction) => {
    calls += 1
    const row = await assertHeld(transaction, held!)
    if (calls === 1) await queue.dispatch([message])
    await putBack(transaction, row, { now: now(), delay: 0 })
  })
  const rows = await records.db.selectFrom('queue_messages').select(['id', 'lease']).execute()
  expect({ calls, rows }).toEqual({ calls: 2, rows: [{ id: held!.id, lease: null }] })
})

it('a key that exists is an error after some attempts', async () => {
  const records = await open()
  const add = () => records.db.insertInto('sales_channel').values({ id: 'a', name: '', url: '' }).execute()
  await add()
  await expect(add()).rejects.toMatchObject({ code: '23505' })
})

it('single writes are isolated like transactions: of several that look for others first, only one writes', async () => {
  const records = await open()
  for (const id of ['a', 'b', 'c'])
    await records.db.insertInto('sales_channel').values({ id, name: 'free', url: '' }).execute()
  const take = (id: string) =>
    records.db
      .updateTable('sales_channel')
      .set({ name: 'taken', url: sql<string>`pg_sleep(0.3)::text` })
      .where('id', '=', id)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('sales_channel as other').select('id').where('other.name', '=', 'taken'))),
      )
      .execute()
  await Promise.all(['a', 'b', 'c'].map(take))
  expect(await records.db.selectFrom('sales_channel').selectAll().where('name', '=', 'taken').execute()).toHaveLength(1)
})

it('stores what SQLite stores: large numbers, exact fractions, texts in the order of their bytes, NUL replaced', async () => {
  const records = await open()
  await records.db
    .insertInto('warmup_origins')
    .values([
      { origin: 'b', not_before: 2 ** 53 - 1, concurrency: 0.1 + 0.2, at: 0 },
      { origin: 'B', not_before: 1, concurrency: 1, at: 0 },
      { origin: 'ä\0', not_before: 1, concurrency: 1, at: 0 },
    ])
    .execute()
  const rows = await records.db.selectFrom('warmup_origins').selectAll().orderBy('origin').execute()
  expect(rows.map(({ origin }) => origin)).toEqual(['B', 'b', 'ä\u{fffd}'])
  expect(rows[1]).toMatchObject({ not_before: 2 ** 53 - 1, concurrency: 0.1 + 0.2 })
  const total = await records.db
    .selectFrom('warmup_origins')
    .select(({ fn }) => [fn.sum<number>('at').as('sum'), fn.countAll<number>().as('count')])
    .where('origin', 'not in', [])
    .executeTakeFirstOrThrow()
  expect(total).toEqual({ sum: 0, count: 3 })
  expect(await records.db.selectFrom('warmup_origins').selectAll().where('origin', 'in', []).execute()).toEqual([])
})

it('keeps no connection to a server that it refuses', async () => {
  const { url } = testDatabase()!
  const readOnly = new URL(url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  const refused = { directory: '', postgres: { url: readOnly.href, listenUrl: null, pool: 1 }, now: Date.now }
  const connections = async () =>
    (
      await execute(
        url,
        "select 1 from pg_stat_activity where datname = current_database() and application_name like 'pagecache %'",
      )
    ).rows.length
  const before = await connections()
  // The pool itself would end an idle one after ten seconds.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  for (let attempt = 0; attempt < 5; attempt += 1) await expect(openAny(refused)).rejects.toThrow('is read-only')
  await until(async () => (await connections()) <= before)
})

it('refuses a newer schema, a database of another program, and every change of an event', async () => {
  const { url } = testDatabase()!
  const again = () => openAny({ directory: '', postgres: { url, listenUrl: null, pool: 1 }, now: Date.now })
  await execute(url, 'update pagecache_schema set version = version + 1')
  await expect(again()).rejects.toMatchObject({ code: 'STORE_NEWER' })
  await execute(url, 'update pagecache_schema set version = version - 1')
  const readOnly = new URL(url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  const postgres = { url: readOnly.href, listenUrl: null, pool: 1 }
  await expect(openAny({ directory: '', postgres, now: Date.now })).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: expect.stringContaining('is read-only') as string,
  })
  await execute(url, 'alter table pagecache_schema rename to other')
  await expect(again()).rejects.toMatchObject({ code: 'STORE_FOREIGN', exit: 1 })
  await execute(url, 'alter table other rename to pagecache_schema')
  await execute(url, "insert into sales_channel values ('c', '', '')")
  await execute(url, "insert into vendor_stage values ('s', '', 1, 0, null, 'always', null, 1, '', '', 0, 0)")
  const event = "insert into vendor_stage_event values ('e', 's', 'close', 'c', 'customer', null, null, 1)"
  await execute(url, event)
  for (const change of ["customer_id = 'other'", 'created_at = 2', "customer_id = null, page_type = 'x'"])
    await expect(execute(url, `update vendor_stage_event set ${change}`)).rejects.toThrow(/never changed/)
  await expect(execute(url, `${event} on conflict (id) do update set created_at = 2`)).rejects.toThrow(/never changed/)
  await execute(url, 'update vendor_stage_event set customer_id = null')
})

it('runs statements of transactions and single writes without compiling them, whatever a scan costs', async () => {
  const { db } = await open()
  const total = sql<{
    'QUERY PLAN': string
  }>`explain (analyze, timing off) update cluster_questions set number = number + 1`
  const { rows } = await db.transaction().execute((transaction) => total.execute(transaction))
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  // Scans are discouraged by this cost.
  expect(plan).toContain('cost=10000000000')
  expect(plan).not.toContain('JIT')
})
