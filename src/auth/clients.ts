import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PagecacheError } from '../errors.ts'
import { uuidv7 } from '../lib/uuid.ts'
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
  /** Who made and who ended it over the API, as the logs name it; null for the command line. */
  createdBy: string | null
  revokedBy: string | null
}

/** So many clients are made over the API within an hour at most: whoever stole a token fills nothing, and what it made is ended in an instant. */
const mostAnHour = 100
const hour = 3_600_000

/** A client's use is noted once in so many milliseconds: each note is a synced write. */
const usedEvery = 60_000

/** What no secret hashes to: an unknown client is compared with it, so that it takes as long as a known one. */
const nobody = Buffer.alloc(32)

/**
 * Makes a client. The secret is in the answer and nowhere else.
 *
 * @param by who asks for it over the API; it is remembered, so that the new client ends with it
 * @throws UNAUTHORIZED where that one was revoked meanwhile; TOO_MANY_REQUESTS
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
    id: uuidv7(at),
    name,
    // Who may change things may look at them.
    scopes: scope === 'write' ? 'read write' : 'read',
    secret_hash: hashOf(secret).toString('base64url'),
    created_at: at,
    last_used_at: null,
    revoked_at: null,
    created_by: by,
    revoked_by: null,
  }
  await db.transaction().execute(async (transaction) => {
    if (by !== null) await assertMayMake(transaction, by, at)
    await transaction.insertInto('api_clients').values(row).execute()
  })
  return { client: toClient(row), secret }
}

async function assertMayMake(transaction: RecordsTransaction, by: string, at: number): Promise<void> {
  await assertActive(transaction, by)
  const { made } = await transaction
    .selectFrom('api_clients')
    .select((select) => select.fn.countAll<number>().as('made'))
    .where('created_by', 'is not', null)
    .where('created_at', '>', at - hour)
    .executeTakeFirstOrThrow()
  if (made < mostAnHour) return
  throw new PagecacheError('TOO_MANY_REQUESTS', `${mostAnHour} clients were made over the API within the last hour.`, {
    hint: "pagecache client:list shows who made them; on the daemon's own machine client:create makes one all the same.",
  })
}

/**
 * In the transaction that writes for it: a token is judged when a request comes, and its client may end before its body is there. A
 * user of the shop is none of our clients.
 */
async function assertActive(transaction: RecordsTransaction, id: string): Promise<void> {
  const row = await transaction.selectFrom('api_clients').select('revoked_at').where('id', '=', id).executeTakeFirst()
  if (row !== undefined && row.revoked_at !== null) throw new PagecacheError('UNAUTHORIZED', 'This client is revoked.')
}

/** Clients, revoked ones too, the oldest first, and how many there are. */
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

/** Null where there is none, or no valid one any more. */
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
 * Ends a client, and in the same transaction all that it made, that those made, and so on. Their tokens are refused from now on, by every
 * process.
 *
 * @param by who asks for it over the API
 * @throws NOT_FOUND; WRONG_STATE where it was revoked before; UNAUTHORIZED where who asks was
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
        hint: 'pagecache client:list shows all of them.',
      })
    if (row.revoked_at !== null)
      throw new PagecacheError('WRONG_STATE', `The client ${id} (${row.name}) is revoked already.`)
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
      .set({ revoked_at: now(), revoked_by: by })
      .where('id', 'in', (query) => query.selectFrom('family').select('id'))
      .where('revoked_at', 'is', null)
      .returningAll()
      .execute()
    const clients = revoked
      .map(toClient)
      .toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
    return { client: clients.find((client) => client.id === id)!, made: clients.filter((client) => client.id !== id) }
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
