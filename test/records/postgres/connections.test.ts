import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openPurgeCluster } from '../../../src/cluster/purge-cluster.ts'
import { realTiming } from '../../../src/lib/timing.ts'
import { PostgresDriver } from '../../../src/records/postgres/driver.ts'
import { consume } from '../../../src/queue/consume.ts'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { openRecords } from '../../../src/records/open.ts'
import type { Records } from '../../../src/records/records.ts'
import { durable, execute, startPostgres } from '../../helpers/postgres.ts'
import { testDatabase } from '../../helpers/records.ts'
import { startRelay } from '../../helpers/relay.ts'
import { until } from '../../helpers/until.ts'

/** The path of the server's socket and the name of the test's database. */
function place(): { socket: string; database: string } {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  return { socket: `${searchParams.get('host')}/.s.PGSQL.5432`, database: pathname.slice(1) }
}

async function openOver(port: number, pool = 4): Promise<Records> {
  const url = `postgres://pagecache:canary@127.0.0.1:${port}/${place().database}`
  const records = await openRecords({ directory: '', postgres: { url, listenUrl: null, pool }, now: Date.now })
  onTestFinished(() => records.close())
  return records
}

async function openOverRelay() {
  const relay = await startRelay(place().socket)
  onTestFinished(() => relay.stop())
  return { relay, records: await openOver(relay.port) }
}

const add = (records: Pick<Records, 'db'>, id: string) =>
  records.db.insertInto('sales_channel').values({ id, name: '', url: '' }).execute()
const ids = async () =>
  (await execute(testDatabase()!.url, 'select id from sales_channel order by id')).rows.map(({ id }) => id as string)

it('replaces connections that were cut while they were idle', async () => {
  const { relay, records } = await openOverRelay()
  await add(records, 'a')
  await relay.set('open')
  await add(records, 'b')
  await relay.set('open')
  expect(await records.db.selectFrom('sales_channel').select('id').execute()).toHaveLength(2)
})

it('repeats a single statement whose connection is cut, also where the pool has no other one', async () => {
  const relay = await startRelay(place().socket)
  onTestFinished(() => relay.stop())
  const records = await openOver(relay.port, 1)
  await add(records, 'a')
  const { url } = testDatabase()!
  const reading = records.db
    .selectFrom('sales_channel')
    .select(['id', sql`pg_sleep(0.5)`.as('pause')])
    .execute()
  const isReading = "select 1 from pg_stat_activity where query like '%pg_sleep(0.5) as%' and pid <> pg_backend_pid()"
  await until(async () => (await execute(url, isReading)).rows.length > 0)
  await relay.set('open')
  expect(await reading).toMatchObject([{ id: 'a' }])
})

it('repeats a transaction whose connection is cut before its commit', async () => {
  const { relay, records } = await openOverRelay()
  let calls = 0
  await records.db.transaction().execute(async (transaction) => {
    calls += 1
    await add({ db: transaction }, 'a')
    if (calls === 1) await relay.set('open')
    await add({ db: transaction }, 'b')
  })
  expect(calls).toBe(2)
  expect(await ids()).toEqual(['a', 'b'])
})

it('says that it is unreachable, without the password, and works when it is back', async () => {
  const { relay, records } = await openOverRelay()
  await relay.set('refusing')
  const error = (await add(records, 'a').catch((thrown: unknown) => thrown)) as Error
  expect(error).toMatchObject({ code: 'STORE_UNREACHABLE', status: 503, exit: 5 })
  expect(error.message).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+, database worker_\d+ is unreachable: .*ECONNREFUSED/)
  expect(JSON.stringify([error.message, error.stack, error])).not.toContain('canary')
  await relay.set('silent')
  await expect(records.db.selectFrom('sales_channel').selectAll().execute()).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
  })
  await relay.set('open')
  await add(records, 'b')
  expect(await ids()).toEqual(['b'])
})

/** A proxy that passes a commit on and then loses the answer to it. */
async function startForgetfulProxy() {
  const { socket: path } = place()
  let forgets = false
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(path)
    let isCommitting = false
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      isCommitting = forgets && chunk.includes('commit')
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => void (isCommitting ? client.destroy() : client.write(chunk)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, forget: (value: boolean) => void (forgets = value) }
}

it('repeats nothing that may have been committed: the caller gets the error', async () => {
  const proxy = await startForgetfulProxy()
  const records = await openOver(proxy.port)
  proxy.forget(true)
  await expect(add(records, 'a')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  let calls = 0
  const transaction = records.db.transaction().execute(async (own) => {
    calls += 1
    await add({ db: own }, 'b')
  })
  await expect(transaction).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  proxy.forget(false)
  expect(calls).toBe(1)
  expect(await ids()).toEqual(['a', 'b'])
})

it('gives back messages whose claim was committed although the answer was lost', async () => {
  const proxy = await startForgetfulProxy()
  const queue = openQueue(await openOver(proxy.port), Date.now)
  const message = { transport: 'async', type: 'deliver', payload: null, group: 'varnish' } as const
  await queue.dispatch([{ ...message, key: 'one' }])
  const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['deliver'] })
  const wanted = new Map([['deliver', 1]])
  proxy.forget(true)
  await expect(worker.claim(wanted, 1)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  proxy.forget(false)
  const [claimed] = await worker.claim(wanted, 1)
  expect(claimed).toMatchObject({ key: 'one' })
  await queue.dispatch([{ ...message, key: 'two' }])
  proxy.forget(true)
  await expect(worker.take(claimed!)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  proxy.forget(false)
  expect(await worker.take(claimed!)).toMatchObject({ key: 'two' })
})

it('registers a worker once although the answer to its first attempt was lost', async () => {
  const proxy = await startForgetfulProxy()
  const queue = openQueue(await openOver(proxy.port), Date.now)
  await queue.dispatch([{ transport: 'async', type: 'deliver', payload: null }])
  const workers = async () => (await execute(testDatabase()!.url, 'select id from queue_workers')).rows
  const seen: unknown[][] = []
  proxy.forget(true)
  await consume({
    queue,
    kind: 'consumer',
    transports: ['async'],
    handlers: [{ type: 'deliver', handle: async () => void seen.push(await workers()) }],
    limits: { messages: 1 },
    stop: new AbortController().signal,
    timing: realTiming,
    random: () => 0.5,
    memory: () => 0,
    onEvent({ kind }) {
      if (kind === 'unavailable') proxy.forget(false)
    },
  })
  expect(seen).toEqual([[{ id: expect.any(String) }]])
  expect(await workers()).toEqual([])
})

it('waits for a connection that is in use, and says when it waits for too long', async () => {
  const { url } = testDatabase()!
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  onTestFinished(() => pool.end())
  const options = { pool, size: 1, server: 'PostgreSQL', nameOf: null, afterCommit: () => '', onCommit: () => {} }
  const patient = new PostgresDriver({ ...options, patience: 60_000 })
  const impatient = new PostgresDriver({ ...options, patience: 20 })
  const first = await patient.acquireConnection()
  const second = patient.acquireConnection()
  await expect(impatient.acquireConnection()).rejects.toMatchObject({
    code: 'STORE_BUSY',
    message: 'All 1 connections of this process to PostgreSQL are in use',
  })
  await patient.releaseConnection(first)
  await patient.releaseConnection(await second)
  await patient.releaseConnection(await impatient.acquireConnection())
})

it('keeps a purge whose nodes cannot be woken', async () => {
  if (inject('postgres') === null) return
  // Another program's notification is committed, and waits for a standby that does not exist.
  const server = (await startPostgres({ synchronous_standby_names: 'missing' }))!
  onTestFinished(() => server.stop())
  const url = server.url('postgres')
  const other = new pg.Client({ connectionString: url })
  other.on('error', () => {})
  await other.connect()
  await other.query('set synchronous_commit = on')
  void other.query('begin; create table other (id int); notify other; commit').catch(() => {})
  await until(async () => {
    const waiting = "select 1 from pg_stat_activity where wait_event = 'SyncRep'"
    return (await execute(url, waiting)).rows.length > 0
  })
  await execute(url, "alter role pagecache set lock_timeout = '50ms'")
  const records = await openRecords({ directory: '', postgres: { url, listenUrl: null, pool: 1 }, now: Date.now })
  onTestFinished(() => records.close())
  const cluster = openPurgeCluster(records.db, '', { node: 'n', lease: 1000 })
  expect(await cluster.appendUnlogged([{ kind: 'all' }])).toMatchObject({ number: 1 })
  expect(await cluster.appendUnlogged([{ kind: 'all' }])).toMatchObject({ number: 2 })
})

it('loses nothing that it has acknowledged when the server crashes, and goes on by itself', async () => {
  if (inject('postgres') === null) return
  const server = (await startPostgres(durable))!
  onTestFinished(() => server.stop())
  const postgres = { url: server.url('postgres'), listenUrl: null, pool: 4 }
  const records = await openRecords({ directory: '', postgres, now: Date.now })
  onTestFinished(() => records.close())
  const acknowledged: string[] = []
  let isOver = false
  const writers = ['a', 'b', 'c', 'd'].map(async (writer) => {
    for (let number = 0; !isOver; number += 1) {
      const id = `${writer}${number}`
      await add(records, id).then(
        () => acknowledged.push(id),
        // While the server starts again, its lost connections count until they are closed.
        (error: unknown) =>
          expect(error).toMatchObject({ code: expect.stringMatching(/^STORE_(?:UNREACHABLE|BUSY)$/) }),
      )
    }
  })
  for (let crash = 0; crash < 2; crash += 1) {
    const before = acknowledged.length
    await until(() => acknowledged.length > before + 50)
    await server.crash()
  }
  const before = acknowledged.length
  await until(() => acknowledged.length > before + 50)
  isOver = true
  await Promise.all(writers)
  const stored = await records.db.selectFrom('sales_channel').select('id').execute()
  const kept = new Set(stored.map(({ id }) => id))
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
})
