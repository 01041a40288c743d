import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { authenticate, createClient, listClients, revokeClient, type Client } from '../../src/auth/clients.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import type { Records } from '../../src/records/open.ts'
import { onPostgres } from '../helpers/on-postgres.ts'
import { openRecords } from '../helpers/records.ts'
import { signToken } from '../../src/auth/tokens.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { lifetime, openAuthority } from './authority.ts'

/** Opens an authority whose clock advances by a millisecond on each reading, so that lists are in order of time. */
async function openTicking(directory?: string) {
  const opened = await openAuthority(directory)
  return { ...opened, records: { ...opened.records, now: () => (opened.clock.now += 1) } }
}

/** A chain of clients, each created by the one before it; the first on the command line. */
async function chain(records: Records, ...names: string[]): Promise<Client[]> {
  const clients: Client[] = []
  for (const name of names)
    clients.push((await createClient(records, name, 'write', clients.at(-1)?.id ?? null)).client)
  return clients
}

const all = { limit: 1000, offset: 0 }

async function activeNames(records: Records): Promise<string[]> {
  const { clients } = await listClients(records, all)
  return clients.filter(({ revokedAt }) => revokedAt === null).map(({ name }) => name)
}

describe('a client created by another one', () => {
  it('is revoked with it, like the clients that it created itself, and no others', async () => {
    const { records, clock } = await openTicking()
    const [first, second, third] = await chain(records, 'first', 'second', 'third')
    await chain(records, 'other', 'child of the other')
    await createClient(records, 'sister', 'read', first!.id)
    const { client, made } = await revokeClient(records, second!.id, first!.id)
    expect([client.name, made.map(({ name }) => name)]).toEqual(['second', ['third']])
    expect(made[0]).toMatchObject({ id: third!.id, createdBy: second!.id, revokedBy: first!.id, revokedAt: clock.now })
    expect(await activeNames(records)).toEqual(['first', 'other', 'child of the other', 'sister'])
    expect((await revokeClient(records, first!.id)).made.map(({ name }) => name)).toEqual(['sister'])
    expect(await activeNames(records)).toEqual(['other', 'child of the other'])
  })

  it('is revoked when it revokes its creator or itself', async () => {
    const { records } = await openTicking()
    const [first, second] = await chain(records, 'first', 'second', 'third')
    expect((await revokeClient(records, first!.id, second!.id)).made.map(({ name }) => name)).toEqual([
      'second',
      'third',
    ])
    const [own] = await chain(records, 'own', 'child')
    expect((await revokeClient(records, own!.id, own!.id)).made.map(({ name }) => name)).toEqual(['child'])
    expect(await activeNames(records)).toEqual([])
  })

  it('gets no more tokens, and its tokens are refused in every process', async () => {
    const { authority, records, keys, clock, dataDir } = await openTicking()
    const [first] = await chain(records, 'first', 'second')
    const { client, secret } = await createClient(
      records,
      'third',
      'write',
      (await listClients(records, all)).clients[1]!.id,
    )
    const token = await signToken(keys, client, clock.now, lifetime)
    expect(await authority.judge(token)).toMatchObject({ kind: 'accepted', actor: client.id })
    const other = await openTicking(dataDir)
    await revokeClient(other.records, first!.id)
    await nextTurn()
    expect(await authority.judge(token)).toMatchObject({ kind: 'refused' })
    expect(await authenticate(records, client.id, secret)).toBeNull()
  })
})

it('a revoked client cannot create or revoke clients, whatever was judged before', async () => {
  const { records, dataDir } = await openTicking()
  const [leaver, stayer] = [
    (await createClient(records, 'leaver', 'write')).client,
    (await createClient(records, 'stayer', 'write')).client,
  ]
  const other = await openTicking(dataDir)
  await revokeClient(other.records, leaver.id)
  await expect(createClient(records, 'lasting', 'write', leaver.id)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await expect(revokeClient(records, stayer.id, leaver.id)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  expect(await activeNames(records)).toEqual(['stayer'])
})

it('a client revoked while it creates another one leaves none behind', async () => {
  const { records, dataDir } = await openTicking()
  const other = await openTicking(dataDir)
  for (let turn = 0; turn < 20; turn++) {
    const { client } = await createClient(records, `maker ${turn}`, 'write')
    const acts = [() => createClient(records, 'made', 'write', client.id), () => revokeClient(other.records, client.id)]
    await Promise.allSettled((turn % 2 === 0 ? acts : acts.toReversed()).map((act) => act()))
    expect(await activeNames(records)).toEqual([])
  }
})

it('a shop user is also saved as the creator', async () => {
  const { records } = await openTicking()
  await createClient(records, 'by the shop', 'write', 'shop:admin')
  expect((await listClients(records, all)).clients[0]).toMatchObject({ createdBy: 'shop:admin', revokedBy: null })
})

it('the API creates at most a hundred clients an hour, revoked ones included; the command line has no limit', async () => {
  const { records, clock } = await openTicking()
  const { client } = await createClient(records, 'busy', 'write')
  for (let count = 0; count < 100; count++) {
    const { client: made } = await createClient(records, `made ${count}`, 'write', client.id)
    if (count % 2 === 0) await revokeClient(records, made.id, client.id)
  }
  const last = (await listClients(records, { limit: 1, offset: 100 })).clients[0]!
  for (const by of [client.id, last.id])
    await expect(createClient(records, 'one more', 'write', by)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  await createClient(records, 'here', 'write')
  clock.now += 3_600_001
  await createClient(records, 'one more', 'write', client.id)
})

it('lists clients of one millisecond in the order of their creation', async () => {
  const { records } = await openAuthority()
  const names = Array.from({ length: 20 }, (_, number) => `client ${number}`)
  for (const name of names) await createClient({ ...records, now: () => 1 }, name, 'read')
  expect(await activeNames(records)).toEqual(names)
})

it('lists one page of all clients', async () => {
  const { records } = await openTicking()
  for (const name of ['a', 'b', 'c']) await createClient(records, name, 'read')
  const { total, clients } = await listClients(records, { limit: 1, offset: 1 })
  expect([total, clients.map(({ name }) => name)]).toEqual([3, ['b']])
})

it.skipIf(onPostgres)('clients from before creators were saved have none and stay', async () => {
  const directory = await tempDir()
  const before = await openRecords({ directory, now: Date.now, migrations: migrations.slice(0, 9) })
  await sql`INSERT INTO api_clients (id, name, scopes, secret_hash, created_at) VALUES ('old', 'old', 'read write', 'x', 1)`.execute(
    before.db,
  )
  await before.close()
  const { records } = await openTicking(directory)
  expect((await listClients(records, all)).clients).toMatchObject([{ id: 'old', createdBy: null, revokedBy: null }])
  await createClient(records, 'new', 'read', 'old')
  expect((await revokeClient(records, 'old')).made.map(({ name }) => name)).toEqual(['new'])
})
