import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CompiledQuery, KyselyPlugin } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { prune } from '../../src/cluster/prune.ts'
import { appendPurges, RecordsLedger } from '../../src/cluster/records-ledger.ts'
import { openRecords as openAny } from '../../src/records/open.ts'
import { execute } from '../helpers/postgres.ts'
import { openRecords, testDatabase } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'

async function openLedger() {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  const ledger = new RecordsLedger(records.db)
  const append = (...tags: string[]) =>
    records.db
      .transaction()
      .setIsolationLevel('read committed')
      .execute((transaction) =>
        appendPurges(transaction, {
          at: 0,
          store: 'here',
          purges: tags.map((tag) => ({ invalidation: null, removals: [{ kind: 'tags', tags: [tag] }] })),
        }),
      )
  const { identity } = await ledger.read(0)
  const write = (renewal: number, changes: object = {}) => ({
    id: 'm',
    identity,
    position: 0,
    confirmed: 0,
    renewal,
    ...changes,
  })
  const join = (renewal: number) =>
    ledger.join({ ...write(renewal), node: 'one', store: 'there', lease: 1000, alone: 500 })
  const state = async () => (await ledger.members()).members.map((member) => [member.state, member.position])
  return { db: records.db, ledger, append, identity, write, join, state }
}

it('numbers purges without gaps when several are recorded at once', async () => {
  const { ledger, append } = await openLedger()
  const firsts = await Promise.all([append('a', 'b'), append('c'), append('d', 'e', 'f')])
  expect(firsts.map(({ first }) => first)).toHaveLength(3)
  const { last, floor, purges } = await ledger.read(0)
  expect([last, floor, purges.map(({ number }) => number)]).toEqual([6, 0, [1, 2, 3, 4, 5, 6]])
  expect((await ledger.read(4)).purges.map(({ number }) => number)).toEqual([5, 6])
})

it('refuses writes of a member that are late, unknown or meant for another database', async () => {
  const { ledger, write, join, state } = await openLedger()
  expect(await ledger.renew(write(1))).toBe('lost')
  await join(1)
  expect(await ledger.renew(write(2))).toBe('suspect')
  expect(await ledger.admit(write(2))).toEqual({ barrier: 0 })
  expect(await ledger.renew(write(4, { confirmed: 2, position: 7 }))).toBe('renewed')
  expect(await ledger.renew(write(3, { confirmed: 2 }))).toBe('lost')
  expect(await ledger.renew(write(5, { identity: 'another' }))).toBe('lost')
  // The database has lost what the member knows to be written.
  expect(await ledger.renew(write(6, { confirmed: 5 }))).toBe('lost')
  // A late registration does not undo an admission.
  await join(3)
  expect(await state()).toEqual([['live', 7]])
})

it('marks only a silent member as suspect, and admits it behind the last purge', async () => {
  const { ledger, append, write, join, state } = await openLedger()
  await join(1)
  await ledger.admit(write(2))
  expect(await ledger.suspect('m', 1)).toBe(false)
  expect(await ledger.suspect('m', 2)).toBe(true)
  expect(await ledger.renew(write(3, { confirmed: 2 }))).toBe('suspect')
  await append('a', 'b')
  expect(await ledger.admit(write(4, { confirmed: 2 }))).toEqual({ barrier: 2 })
  expect(await state()).toEqual([['live', 0]])
  await ledger.leave('m', 5)
  expect(await state()).toEqual([])
})

it('continues far behind the numbers of a server that was replaced, with a purge of everything', async () => {
  const { db, ledger, append, write, join } = await openLedger()
  await append('a')
  await db.updateTable('cluster_clock').set({ history: 'earlier', settled: 'earlier' }).execute()
  await join(1)
  const answer = await ledger.admit(write(2, { position: 1 }))
  expect(answer).toEqual({ barrier: 1_000_001 })
  expect((await ledger.read(1)).purges.map(({ removals }) => removals)).toEqual([[{ kind: 'all' }]])
  expect((await ledger.members()).isSettled).toBe(false)
  await ledger.settle((await ledger.members()).identity)
  expect((await ledger.members()).isSettled).toBe(true)
})

it('deletes old purges that all members have applied, except those that are gone', async () => {
  const { db, ledger, append, write, join, state } = await openLedger()
  await append('a', 'b', 'c')
  await join(1)
  await ledger.admit(write(2, { position: 2 }))
  const old = { goneAfter: 1000, keepFor: 1000, most: 100 }
  await prune(db, old)
  expect(await ledger.read(2)).toMatchObject({ floor: 2, last: 3, purges: [{ number: 3 }] })
  await ledger.suspect('m', 2)
  await db.updateTable('cluster_members').set({ seen_at: 0 }).execute()
  await prune(db, { goneAfter: 1000, keepFor: Math.floor(Date.now() / 2), most: 100 })
  expect((await ledger.read(0)).floor).toBe(3)
  expect(await state()).toEqual([])
  expect(await ledger.admit(write(3, { confirmed: 2, position: 2 }))).toBe('lost')
})

it('keeps a limited number of purges, and those that a live member has not applied', async () => {
  const { db, ledger, append, write, join } = await openLedger()
  await append('a', 'b', 'c', 'd')
  await join(1)
  await ledger.admit(write(2, { position: 1 }))
  const young = { goneAfter: 600_000, keepFor: 2 * Date.now(), most: 2 }
  await prune(db, young)
  expect((await ledger.read(0)).floor).toBe(1)
  await ledger.renew(write(3, { confirmed: 2, position: 4 }))
  await prune(db, young)
  expect(await ledger.read(2)).toMatchObject({ floor: 2, last: 4, purges: [{ number: 3 }, { number: 4 }] })
})

it('gives up a silent member only when it can serve nothing without a lease any more', async () => {
  const { db, ledger, write, join, state } = await openLedger()
  await join(1)
  await ledger.admit(write(2))
  await ledger.suspect('m', 2)
  await db
    .updateTable('cluster_members')
    .set({ seen_at: Date.now() - 5000, alone: 60_000 })
    .execute()
  const old = { goneAfter: 1000, keepFor: 600_000, most: 100 }
  await prune(db, old)
  expect(await state()).toEqual([['suspect', 0]])
  await db.updateTable('cluster_members').set({ alone: 0 }).execute()
  await prune(db, old)
  expect(await state()).toEqual([['gone', 0]])
})

it('tells a database apart from its dump that was restored in its place', async () => {
  const { identity } = await openLedger()
  const { url } = testDatabase()!
  const server = url.replace(/\/\w+\?/, '/postgres?')
  const name = `restored_${process.pid}`
  const own = url.replace(/\/\w+\?/, `/${name}?`)
  const postgres = { url: own, listenUrl: null, pool: 2 }
  const read = async () => {
    const records = await openAny({ directory: '', now: Date.now, postgres })
    const found = await new RecordsLedger(records.db).read(0)
    await records.close()
    return found.identity
  }
  await execute(server, `create database ${name}`)
  try {
    const before = await read()
    const dump = join(await tempDir(), 'dump')
    const run = (program: string, ...args: string[]) => promisify(execFile)(program, [...args, '-d', own])
    await run('pg_dump', '-Fc', '-f', dump)
    expect(await read()).toBe(before)
    await run('pg_restore', '--clean', dump)
    expect([before, identity]).not.toContain(await read())
  } finally {
    await execute(server, `drop database ${name} with (force)`)
  }
})

it('tells databases on one server apart, whose purges have the same numbers', async () => {
  const { identity } = await openLedger()
  const { url } = testDatabase()!
  const name = `other_${process.pid}`
  await execute(url, `create database ${name}`)
  try {
    const postgres = { url: url.replace(/\/\w+\?/, `/${name}?`), listenUrl: null, pool: 2 }
    const other = await openAny({ directory: '', now: Date.now, postgres })
    const read = await new RecordsLedger(other.db).read(0)
    await other.close()
    expect(read.identity).not.toBe(identity)
  } finally {
    await execute(url, `drop database ${name} with (force)`)
  }
})

it('reads purges and members with statements that PostgreSQL finds too cheap to compile', async () => {
  const { db } = await openLedger()
  const compiled: CompiledQuery[] = []
  const recorder: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => (compiled.push(db.getExecutor().compileQuery(node, queryId)), node),
    transformResult: async ({ result }) => result,
  }
  const ledger = new RecordsLedger(db.withPlugin(recorder))
  await ledger.read(0)
  await ledger.members()
  expect(compiled).toHaveLength(2)
  for (const { sql, parameters } of compiled) {
    const statement = sql.replaceAll(/\$(\d+)/g, (_, place) => String(parameters[Number(place) - 1]))
    // Outside of transactions, and without statistics of the tables.
    const { rows } = await execute(testDatabase()!.url, `explain (format json) ${statement}`)
    const [{ Plan: plan }] = (rows as { 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }[])[0]!['QUERY PLAN']
    // Above 100,000 the server compiles a statement (jit_above_cost).
    expect(plan['Total Cost']).toBeLessThan(50_000)
  }
})
