import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PagecacheError } from '../errors.ts'
import { hourLength } from '../lib/moment.ts'
import { orderedId } from '../lib/ordered-id.ts'
import type { ApiClientRow } from '../records/api-rows.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { allScopes, type Scope } from './judgement.ts'

/** A client of the API, without its secret. Times are milliseconds since the epoch. */
export interface Client {
  id: string
  name: string
  scopes: Scope[]
  createdAt: number
  lastUsedAt: number | null
  revokedAt: number | null
  /** The actor that created or revoked it over the API; null for the command line. */
  createdBy: string | null
  revokedBy: string | null
}

/** Most clients created over the API within an hour, so that a stolen token cannot fill the database. */
const maxPerHour = 100

/** How often the use of a client is recorded (milliseconds): each record is a synced write. */
const useInterval = 60_000

/** No secret has this hash. An unknown client is compared with it, so that the check takes as long as for a known one. */
const noHash = Buffer.alloc(32)

/**
 * Creates a client. Only the result contains the secret; the records contain its hash.
 *
 * @param by the actor that requests it over the API: revoking that client also revokes the new one
 * @throws UNAUTHORIZED if the actor has been revoked; TOO_MANY_REQUESTS
 */
export async function createClient(
  { db, now }: Records,
  name: string,
  scope: Scope,
  by: string | null = null,
): Promise<{ client: Client; secret: string }> {
  const at = now()
  const secret = randomBytes(32).toString('base64url')
  const row: ApiClientRow = {
    id: orderedId(at),
    name,
    // Write access includes read access.
    scopes: scope === 'write' ? 'read write' : 'read',
    secret_hash: hashOf(secret).toString('base64url'),
    created_at: at,
    last_used_at: null,
    revoked_at: null,
    created_by: by,
    revoked_by: null,
  }
  await db.transaction().execute(async (transaction) => {
    if (by !== null) await assertMayCreate(transaction, by, at)
    await transaction.insertInto('api_clients').values(row).execute()
  })
  return { client: toClient(row), secret }
}

async function assertMayCreate(transaction: RecordsTransaction, by: string, at: number): Promise<void> {
  await assertActive(transaction, by)
  const { created } = await transaction
    .selectFrom('api_clients')
    .select((select) => select.fn.countAll<number>().as('created'))
    .where('created_by', 'is not', null)
    .where('created_at', '>', at - hourLength)
    .executeTakeFirstOrThrow()
  if (created < maxPerHour) return
  throw new PagecacheError(
    'TOO_MANY_REQUESTS',
    `The API has created ${maxPerHour} clients within the last hour, the limit.`,
    {
      hint: "pagecache client:list shows who created them; client:create on the daemon's own machine has no limit.",
    },
  )
}

/**
 * Throws if the client has been revoked; called in the transaction that writes on its behalf, because it may be revoked between the check
 * of its token and the arrival of the request body. A shop user is not a client and passes.
 */
async function assertActive(transaction: RecordsTransaction, id: string): Promise<void> {
  const row = await transaction.selectFrom('api_clients').select('revoked_at').where('id', '=', id).executeTakeFirst()
  if (row !== undefined && row.revoked_at !== null)
    throw new PagecacheError('UNAUTHORIZED', 'This client has been revoked.')
}

/** The name of a client; null if there is none with this id. */
export async function nameOfClient({ db }: Records, id: string): Promise<string | null> {
  const row = await db.selectFrom('api_clients').select('name').where('id', '=', id).executeTakeFirst()
  return row?.name ?? null
}

/** Lists clients, including revoked ones, oldest first, with the total number. */
export async function listClients(
  { db }: Records,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ total: number; clients: Client[] }> {
  const rows = await db
    .selectFrom('api_clients')
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await db
    .selectFrom('api_clients')
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { total, clients: rows.map(toClient) }
}

/** Finds a client by id; null if it is unknown or revoked. */
export async function findActiveClient({ db }: Records, id: string): Promise<Client | null> {
  const row = await db
    .selectFrom('api_clients')
    .selectAll()
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row ? toClient(row) : null
}

/**
 * Revokes a client and, in the same transaction, all clients that it created, directly or indirectly. Every process refuses their tokens
 * from now on.
 *
 * @param by the actor that requests it over the API
 * @throws NOT_FOUND; WRONG_STATE if it is already revoked; UNAUTHORIZED if the actor has been revoked
 */
export async function revokeClient(
  { db, now }: Records,
  id: string,
  by: string | null = null,
): Promise<{ client: Client; made: Client[] }> {
  return db.transaction().execute(async (transaction) => {
    if (by !== null) await assertActive(transaction, by)
    const row = await transaction
      .selectFrom('api_clients')
      .select(['name', 'revoked_at'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (!row)
      throw new PagecacheError('NOT_FOUND', `No client has the id ${id}.`, {
        hint: 'pagecache client:list shows all clients.',
      })
    if (row.revoked_at !== null)
      throw new PagecacheError('WRONG_STATE', `The client ${id} (${row.name}) is already revoked.`)
    const clients = await revokeFamily(transaction, id, { revoked_at: now(), revoked_by: by })
    return { client: clients.find((client) => client.id === id)!, made: clients.filter((client) => client.id !== id) }
  })
}

/** Revokes a client and all that it created, directly or indirectly. Returns them, the oldest first. */
async function revokeFamily(
  transaction: RecordsTransaction,
  id: string,
  revocation: { revoked_at: number; revoked_by: string | null },
): Promise<Client[]> {
  const revoked = await transaction
    .withRecursive('family', (query) =>
      query
        .selectFrom('api_clients')
        .select('id')
        .where('id', '=', id)
        .union((union) =>
          union
            .selectFrom('api_clients')
            .innerJoin('family', 'family.id', 'api_clients.created_by')
            .select('api_clients.id'),
        ),
    )
    .updateTable('api_clients')
    .set(revocation)
    .where('id', 'in', (query) => query.selectFrom('family').select('id'))
    .where('revoked_at', 'is', null)
    .returningAll()
    .execute()
  return revoked.map(toClient).toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
}

/** Checks a client's id and secret; null if they are wrong. It takes the same time in both cases. */
export async function authenticate({ db }: Records, id: string, secret: string): Promise<Client | null> {
  const row = await db.selectFrom('api_clients').selectAll().where('id', '=', id).executeTakeFirst()
  const expected = row && row.revoked_at === null ? Buffer.from(row.secret_hash, 'base64url') : noHash
  const isEqual = timingSafeEqual(expected, hashOf(secret))
  return row && isEqual && expected !== noHash ? toClient(row) : null
}

/** Records that a client requested a token. Errors are ignored: a full disk must not prevent logins. */
export async function recordUse({ db, now }: Records, client: Client): Promise<void> {
  const at = now()
  if (client.lastUsedAt !== null && at - client.lastUsedAt < useInterval) return
  await db
    .updateTable('api_clients')
    .set({ last_used_at: at })
    .where('id', '=', client.id)
    .execute()
    .catch(() => {})
}

/** 256 random bits need no slow hash (docs/decisions/0026-clients-and-tokens.md). */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function toClient(row: ApiClientRow): Client {
  return {
    id: row.id,
    name: row.name,
    scopes: allScopes.filter((scope) => row.scopes.split(' ').includes(scope)),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    createdBy: row.created_by,
    revokedBy: row.revoked_by,
  }
}
