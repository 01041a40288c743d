import { sql } from 'kysely'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { createClient, revokeClient } from '../../src/auth/clients.ts'
import { Sessions, ShopSessions } from '../../src/auth/sessions.ts'
import type { Judgement } from '../../src/auth/judgement.ts'
import { PagecacheError } from '../../src/errors.ts'
import type { Records } from '../../src/records/records.ts'
import { lockRecords } from '../helpers/lock-records.ts'
import { onPostgres } from '../helpers/on-postgres.ts'
import { until } from '../helpers/until.ts'
import { openAuthority } from './authority.ts'

type Opened = Awaited<ReturnType<typeof openAuthority>>

let opened: Opened
let sessions: Sessions
let actor: string

beforeEach(async () => {
  opened = await openAuthority()
  sessions = opened.authority.sessions
  actor = (await createClient(opened.records, 'operator', 'write')).client.id
})

const open = (scopes: ('read' | 'write')[] = ['read', 'write']) => sessions.open({ actor, scopes })

async function refused(value: string, judge = sessions): Promise<void> {
  expect(((await judge.judge(value)) as Judgement).kind).toBe('refused')
}

it('identifies the client of a session with the scopes of its login, in every process', async () => {
  const other = new Sessions(opened.records, opened.keys)
  const [whole, narrow] = [await open(), await open(['read'])]
  for (const judge of [sessions, other]) {
    expect(await judge.judge(whole)).toEqual({ kind: 'accepted', actor, scopes: ['read', 'write'] })
    expect(await judge.judge(narrow)).toEqual({ kind: 'accepted', actor, scopes: ['read'] })
  }
})

it('stores a hash of the value only, and never gives a value twice', async () => {
  const [one, other] = [await open(), await open()]
  expect(one).not.toBe(other)
  const rows = JSON.stringify(await opened.records.db.selectFrom('admin_sessions').selectAll().execute())
  expect(rows).not.toContain(one)
})

it('refuses any other value', async () => {
  for (const value of ['', 'x', 'a'.repeat(43), `${'a'.repeat(42)}'`, 'a'.repeat(10_000)]) await refused(value)
})

it('ends with the logout', async () => {
  const value = await open()
  expect(await sessions.judge(value)).toMatchObject({ kind: 'accepted' })
  const other = new Sessions(opened.records, opened.keys)
  expect(await other.judge(value)).toMatchObject({ kind: 'accepted' })
  await sessions.close(value)
  await new Promise((resolve) => setImmediate(resolve))
  await refused(value)
  await refused(value, other)
})

it('ends after twelve hours', async () => {
  const value = await open()
  opened.clock.now += 12 * 3_600_000 - 1
  expect(await sessions.judge(value)).toMatchObject({ kind: 'accepted' })
  opened.clock.now += 1
  await refused(value)
})

it('ends when its client is revoked', async () => {
  const value = await open()
  expect(await sessions.judge(value)).toMatchObject({ kind: 'accepted' })
  await revokeClient(opened.records, actor)
  await new Promise((resolve) => setImmediate(resolve))
  await refused(value)
})

it('ends when the signing key is dropped', async () => {
  const value = await open()
  expect(await sessions.judge(value)).toMatchObject({ kind: 'accepted' })
  await opened.keys.rotate({ dropOld: true })
  await new Promise((resolve) => setImmediate(resolve))
  await refused(value)
})

it('of a client are at most 20: a further login ends the oldest, and removes those that have expired', async () => {
  const values: string[] = []
  for (let login = 0; login < 21; login++) {
    opened.clock.now += 1
    values.push(await open())
  }
  await refused(values[0]!)
  expect(await sessions.judge(values[1]!)).toMatchObject({ kind: 'accepted' })
  opened.clock.now += 12 * 3_600_000
  await open()
  const { count } = await opened.records.db
    .selectFrom('admin_sessions')
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  expect(count).toBe(1)
})

it.skipIf(onPostgres)('opens and ends although the disk is full', async () => {
  const saved = await open()
  await sql`PRAGMA query_only = 1`.execute(opened.records.db)
  const unsaved = await open()
  for (const value of [saved, unsaved]) {
    expect(await sessions.judge(value)).toMatchObject({ kind: 'accepted', actor })
    await sessions.close(value)
    await refused(value)
  }
})

/** Records that are away at times, and a count of the attempts to use them meanwhile. */
function awayAtTimes({ records }: Opened) {
  const state = { isAway: false, attempts: 0 }
  const behind: Records = {
    ...records,
    get db() {
      if (!state.isAway) return records.db
      state.attempts += 1
      throw new PagecacheError('STORE_UNREACHABLE', 'the server is away')
    },
  }
  return { state, behind }
}

it('ends with a logout while the records cannot be used, and in all processes when they can again', async () => {
  const { state, behind } = awayAtTimes(opened)
  const judge = new Sessions(behind, opened.keys)
  const [value, unseen] = [await open(), await open()]
  expect(await judge.judge(value)).toMatchObject({ kind: 'accepted' })
  state.isAway = true
  await judge.close(value)
  await refused(value, judge)
  // Whether the other one exists cannot be known.
  await expect(judge.close(unseen)).rejects.toThrow('away')
  state.isAway = false
  await until(async () => ((await sessions.judge(value)) as Judgement).kind === 'refused')
  expect(await judge.judge(unseen)).toMatchObject({ kind: 'accepted' })
})

it('is deleted by one attempt a second after repeated logouts while the records cannot be used', async () => {
  const { state, behind } = awayAtTimes(opened)
  const judge = new Sessions(behind, opened.keys)
  const value = await open()
  expect(await judge.judge(value)).toMatchObject({ kind: 'accepted' })
  state.isAway = true
  for (let logout = 0; logout < 20; logout++) await judge.close(value)
  await refused(value, judge)
  state.attempts = 0
  await until(() => state.attempts > 0)
  expect(state.attempts).toBeLessThan(5)
  state.isAway = false
  await until(async () => ((await sessions.judge(value)) as Judgement).kind === 'refused')
})

it('whose value is unknown end without a write, which anyone could cause', async () => {
  const value = await open()
  await sessions.close(value)
  const unlock = await lockRecords(opened.dataDir)
  onTestFinished(unlock)
  for (const unknown of [value, 'a'.repeat(43), '', 'x'.repeat(10_000)]) await sessions.close(unknown)
})

it('of a shop carry the token, which the shop judges', async () => {
  const shop = new ShopSessions({ judge: (token) => ({ kind: 'accepted', actor: `shop:${token}`, scopes: ['read'] }) })
  const value = await shop.open({ actor, scopes: [] }, 'token')
  expect(await shop.judge(value, { address: '', host: '' })).toMatchObject({ actor: 'shop:token' })
})
