import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PagecacheError } from '../errors.ts'
import { uuidv7 } from '../lib/uuid.ts'
import type { ApiClientRow } from '../records/api-rows.ts'
import type { Records } from '../records/open.ts'
import { scopes, type Scope } from './judgement.ts'

/** A client of the API, without its secret. Times are milliseconds since the epoch. */
export interface Client {
  id: string
  name: string
  scopes: Scope[]
  createdAt: number
  lastUsedAt: number | null
  revokedAt: number | null
}

/** A client's use is noted once in so many milliseconds: each note is a synced write. */
const usedEvery = 60_000

/** What no secret hashes to: an unknown client is compared with it, so that it takes as long as a known one. */
const nobody = Buffer.alloc(32)

/** Makes a client. The secret is in the answer and nowhere else. */
export async function createClient({ db, now }: Records, name: string, scope: Scope): Promise<{ client: Client; secret: string }> {
  const at = now()
  const secret = randomBytes(32).toString('base64url')
  const row: ApiClientRow = {
    id: uuidv7(at),
    name,
    // Who may change things may look at them.
    scopes: scope === 'write' ? 'read write' : 'read',
    secret_hash: hashOf(secret).toString('base64url'),
    created_at: at,
    last_used_at: null,
    revoked_at: null,
  }
  await db.insertInto('api_clients').values(row).execute()
  return { client: toClient(row), secret }
}

/** Every client, revoked ones too, the oldest first. */
export async function listClients({ db }: Records): Promise<Client[]> {
  const rows = await db.selectFrom('api_clients').selectAll().orderBy('created_at').orderBy('id').execute()
  return rows.map(toClient)
}

/** Null where there is none, or no valid one any more. */
export async function findActiveClient({ db }: Records, id: string): Promise<Client | null> {
  const row = await db.selectFrom('api_clients').selectAll().where('id', '=', id).where('revoked_at', 'is', null).executeTakeFirst()
  return row ? toClient(row) : null
}

/**
 * Ends a client. Its tokens are refused from now on, by every process.
 *
 * @throws NOT_FOUND; WRONG_STATE where it was revoked before
 */
export async function revokeClient({ db, now }: Records, id: string): Promise<Client> {
  return db.transaction().execute(async (transaction) => {
    const row = await transaction.selectFrom('api_clients').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) throw new PagecacheError('NOT_FOUND', `No client has the id ${id}.`, { hint: 'pagecache client:list shows all of them.' })
    if (row.revoked_at !== null) throw new PagecacheError('WRONG_STATE', `The client ${id} (${row.name}) is revoked already.`)
    const revoked = { ...row, revoked_at: now() }
    await transaction.updateTable('api_clients').set({ revoked_at: revoked.revoked_at }).where('id', '=', id).execute()
    return toClient(revoked)
  })
}

/** The client whose id and secret these are; null in every other case, after the same work. */
export async function authenticate({ db }: Records, id: string, secret: string): Promise<Client | null> {
  const row = await db.selectFrom('api_clients').selectAll().where('id', '=', id).executeTakeFirst()
  const expected = row && row.revoked_at === null ? Buffer.from(row.secret_hash, 'base64url') : nobody
  const same = timingSafeEqual(expected, hashOf(secret))
  return row && same && expected !== nobody ? toClient(row) : null
}

/** Notes that a client got a token. Best effort: a full disk keeps nobody out. */
export async function noteUse({ db, now }: Records, client: Client): Promise<void> {
  const at = now()
  if (client.lastUsedAt !== null && at - client.lastUsedAt < usedEvery) return
  await db.updateTable('api_clients').set({ last_used_at: at }).where('id', '=', client.id).execute().catch(() => {})
}

/** 256 random bits need no slow hash (docs/decisions/0026-clients-and-tokens.md). */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function toClient(row: ApiClientRow): Client {
  return {
    id: row.id,
    name: row.name,
    scopes: scopes.filter((scope) => row.scopes.split(' ').includes(scope)),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}
