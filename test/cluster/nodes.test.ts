import { writeFile } from 'node:fs/promises'
import { join as joinPath } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { confirm } from '../../src/cluster/confirm.ts'
import { forgetNode } from '../../src/cluster/forget.ts'
import { askNodes, readNodes, stateOf } from '../../src/cluster/nodes.ts'
import { appendPurges, RecordsLedger } from '../../src/cluster/records-ledger.ts'
import { readRemoved } from '../../src/cluster/removed-pages.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import { notifyTask } from '../../src/workers/notify.ts'
import { openRecords, testDatabase } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openApp } from '../operations/pages-project.ts'
import { until } from '../helpers/until.ts'

/** Longer than any test takes, so that a node is silent only where a test says so. */
const [lease, alone] = [600_000, 600_000]

async function openCluster() {
  const { db, close } = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => close())
  const ledger = new RecordsLedger(db, { version: '1.2.3', address: 'http://one:8080' })
  const { identity } = await ledger.read(0)
  let renewal = 0
  const write = (id: string, position = 0) => ({ id, identity, position, confirmed: 0, renewal: (renewal += 1) })
  const join = (id: string, node: string, changes: object = {}) =>
    ledger.join({ ...write(id), node, store: `store of ${node}`, lease, alone, ...changes })
  /** A member with a lease. */
  const serve = async (id: string, node: string, changes: object = {}) => {
    await join(id, node, changes)
    await ledger.admit(write(id))
  }
  const change = (id: string, values: object) =>
    db.updateTable('cluster_members').set(values).where('id', '=', id).execute()
  const ids = async () => (await ledger.members()).members.map(({ id }) => id).toSorted()
  const purge = () =>
    db.transaction().execute((transaction) =>
      appendPurges(transaction, {
        at: Date.now(),
        store: 'here',
        purges: [{ invalidation: null, removals: [{ kind: 'all' }] }],
      }),
    )
  const confirmed = (number: number) =>
    confirm(
      { ledger, lease: 1, mono: () => performance.now(), sleep: async () => {}, pause: 1, patience: 60_000 },
      { number, identity, store: 'here' },
    )
  return { db, ledger, write, join, serve, change, ids, purge, confirmed }
}

it('a process that starts removes those on its page store that have ended, and no other', async () => {
  const { serve, change, ids } = await openCluster()
  await serve('ended', 'one')
  await serve('running', 'one')
  await serve('elsewhere', 'two')
  // A process that ended, as its number is no longer in use.
  const ended = JSON.stringify({ ...thisProcess(), pid: 2 ** 22 + 1, started: '1' })
  for (const id of ['ended', 'elsewhere']) await change(id, { process: ended })
  await serve('next', 'one')
  expect(await ids()).toEqual(['elsewhere', 'next', 'running'])
})

it('a silent process whose node has started elsewhere is not named by purges, unless it writes again', async () => {
  const { db, ledger, write, serve, change, purge, confirmed } = await openCluster()
  const elsewhere = JSON.stringify({ ...thisProcess(), pidNamespace: 'pid:[1]' })
  await serve('silent', 'one', { store: 'an earlier container' })
  await change('silent', { process: elsewhere })
  await serve('other', 'two')
  const { first: number } = await purge()
  for (const id of ['silent', 'other']) await change(id, { seen_at: 0, state: 'suspect', marked_at: Date.now() })
  expect((await confirmed(number)).unconfirmed).toEqual(['one', 'two'])
  await serve('next', 'one', { store: 'the next container' })
  await ledger.renew(write('next', number))
  expect(await confirmed(number)).toEqual({ live: ['one'], isAlone: false, unconfirmed: ['two'] })
  expect((await readNodes(db)).map(({ name, state }) => [name, state])).toEqual([
    ['one', 'live'],
    ['two', 'gone'],
  ])
  await ledger.admit(write('silent', number))
  await change('silent', { state: 'suspect' })
  expect((await confirmed(number)).unconfirmed).toEqual(['one', 'two'])
})

it('a silent process that runs beside one that starts is still named by purges', async () => {
  const { serve, change, purge, confirmed } = await openCluster()
  await serve('silent', 'one')
  const { first: number } = await purge()
  await change('silent', { seen_at: 0, state: 'suspect', marked_at: Date.now() })
  await serve('next', 'one')
  await change('next', { position: number })
  expect(await confirmed(number)).toEqual({ live: ['one'], isAlone: false, unconfirmed: ['one'] })
})

it('shows a node with the worst of its processes, and what it has not applied', async () => {
  const { db, serve, join, change, purge } = await openCluster()
  await serve('a', 'one')
  await serve('b', 'one')
  await join('c', 'two')
  await purge()
  await purge()
  await change('a', { position: 1 })
  const node = { version: '1.2.3', address: 'http://one:8080' }
  expect(await readNodes(db)).toEqual([
    expect.objectContaining({ ...node, name: 'one', state: 'live', behind: 2 }),
    expect.objectContaining({ ...node, name: 'two', state: 'suspect', behind: 2, leaseLeft: 0 }),
  ])
  expect((await readNodes(db))[0]!.leaseLeft).toBeGreaterThan(0)
  await change('b', { state: 'suspect' })
  expect((await readNodes(db))[0]).toMatchObject({ state: 'suspect', leaseLeft: 0 })
  // One that is gone says nothing about the others.
  await change('b', { state: 'gone' })
  expect((await readNodes(db))[0]).toMatchObject({ state: 'live' })
})

it.each([
  ['live', 0, 'live'],
  ['live', 1099, 'live'],
  ['live', 1101, 'suspect'],
  ['live', 600_001, 'gone'],
  ['joining', 0, 'suspect'],
  ['suspect', 0, 'suspect'],
  ['gone', 0, 'gone'],
] as const)('a process marked as %s and silent for %i ms is %s', (state, silentFor, shown) => {
  expect(stateOf({ state, silentFor, lease: 1000 })).toBe(shown)
})

it('keeps what members have removed, once however often they tell it', async () => {
  const { db, ledger, write, serve, purge } = await openCluster()
  await serve('a', 'one')
  await serve('b', 'two')
  const { first: number } = await purge()
  const removed = [{ number, counts: [3, 0, 2] }]
  for (let times = 0; times < 2; times += 1)
    expect(await ledger.renew(write('a', number), { removed, answer: null })).toBe('renewed')
  expect(await readRemoved(db, [number])).toEqual([{ node: 'one', number, counts: [3, 0, 2] }])
})

it('asks live nodes alone for figures, and gives one answer for each page store', async () => {
  const { db, ledger, write, serve, join, change } = await openCluster()
  await serve('own', 'here')
  expect(await askNodes(db, 'store of here')).toEqual({ isMember: true, stores: [] })
  for (const id of ['a1', 'a2']) await serve(id, 'a')
  await serve('silent', 'b')
  await change('silent', { seen_at: 0 })
  await join('starting', 'c')
  const asking = askNodes(db, 'store of here')
  const question = await until(async () => (await ledger.read(0)).question || false)
  const answer = { question, statistics: '{"pages":7}' }
  for (const id of ['a1', 'a2']) await ledger.renew(write(id), { removed: [], answer })
  const stores = [{ node: 'a', store: 'store of a', statistics: { pages: 7 } }]
  expect(await asking).toEqual({ isMember: true, stores })
})

it('does not wait for figures of a node that falls silent', async () => {
  const { db, serve } = await openCluster()
  await serve('mute', 'a', { lease: 50 })
  expect(await askNodes(db, 'store of here')).toEqual({ isMember: false, stores: [] })
})

it('forgets a node that can serve nothing any more, and others only by force', async () => {
  const { db, ledger, write, serve, change, ids } = await openCluster()
  await serve('live', 'one', { lease: 100, alone: 0 })
  await change('live', { lease })
  await serve('suspect', 'two')
  await change('suspect', { state: 'suspect' })
  await serve('gone', 'three')
  await change('gone', { state: 'gone', seen_at: 0 })
  const forget = (node: string, force = false) => forgetNode(db, node, { force })
  await expect(forget('none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(forget('one')).rejects.toMatchObject({ code: 'WRONG_STATE', message: 'Node one is live' })
  await expect(forget('two')).rejects.toMatchObject({
    code: 'WRONG_STATE',
    message: expect.stringMatching(/for another/),
  })
  expect(await forget('three')).toBe(1)
  expect(await forget('two', true)).toBe(1)
  expect(await ledger.admit(write('suspect'))).toBe('lost')
  await change('live', { lease: 100 })
  const forgetting = forget('one', true)
  await until(async () => !(await ids()).includes('live'))
  expect(await ledger.renew(write('live'))).toBe('lost')
  expect(await forgetting).toBe(1)
  expect(await ids()).toEqual([])
})

it('forgets a node that comes back and is forgotten again, each time until no lease is left', async () => {
  const { db, serve, ids } = await openCluster()
  await serve('a', 'one', { lease: 300 })
  const first = forgetNode(db, 'one', { force: true })
  await until(async () => !(await ids()).includes('a'))
  await serve('a', 'one', { lease: 2000 })
  const second = forgetNode(db, 'one', { force: true })
  await until(async () => !(await ids()).includes('a'))
  expect(await first).toBe(1)
  // Its lease may not be over.
  expect((await ids()).length).toBe(2)
  expect(await second).toBe(2)
  expect(await ids()).toEqual([])
})

it('notifies of a node that was lost, and when it is back', async () => {
  const { db, ledger, write, serve, change } = await openCluster()
  const projectDir = await tempDir()
  const notify = { webhooks: [{ name: 'ops', url: 'http://127.0.0.1:9/hook' }], diskFree: 0 }
  await writeFile(joinPath(projectDir, 'pagecache.yaml'), stringify({ notify, records: { url: testDatabase()!.url } }))
  const app = await openApp(projectDir)
  const check = async () => {
    await db.deleteFrom('queue_messages').execute()
    await notifyTask(app).run({ stop: new AbortController().signal })
    const rows = await db.selectFrom('queue_messages').select('payload').where('type', '=', 'notify.send').execute()
    return rows.map(({ payload }) => (JSON.parse(payload) as { notification: unknown }).notification)
  }
  await serve('a', 'one')
  await serve('b', 'two')
  expect(await check()).toEqual([])
  await change('b', { seen_at: 0 })
  const lost = { event: 'node', subject: 'node two', state: 'problem', title: 'The node two is lost' }
  expect(await check()).toMatchObject([lost])
  expect(await check()).toEqual([])
  await ledger.renew(write('b'))
  expect(await check()).toMatchObject([{ event: 'node', subject: 'node two', state: 'recovered' }])
})
