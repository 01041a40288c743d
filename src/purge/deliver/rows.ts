import type { RecordsDatabase, RecordsTransaction } from '../../records/schema.ts'
import { closed, type Circuit } from './circuit.ts'
import type { Pending } from './plan.ts'

/** Rows of one transaction, so that none takes long. */
const rowsAtOnce = 500

export type Undelivered = 'pending' | 'failed'

/** The oldest purges that a proxy has still to be told of. */
export async function readUndelivered(
  db: RecordsDatabase,
  proxy: string,
  status: Undelivered,
  limit: number,
): Promise<Pending[]> {
  const rows = await undelivered(db, proxy, status)
    .select(['purge_id', 'kind', 'key', 'soft', 'attempts'])
    .orderBy('purge_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    id: row.purge_id,
    kind: row.kind ?? 'all',
    soft: row.soft === 1,
    attempts: row.attempts,
    key: row.key,
  }))
}

/** Whether more than so many purges wait. */
export async function isBacklogAbove(
  db: RecordsDatabase,
  proxy: string,
  status: Undelivered,
  limit: number,
): Promise<boolean> {
  const row = await undelivered(db, proxy, status)
    .select('purge_id')
    .orderBy('purge_id')
    .offset(limit)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The last purge that waits now; what is asked for later has a higher number. */
export async function lastUndelivered(db: RecordsDatabase, proxy: string, status: Undelivered): Promise<number> {
  const row = await undelivered(db, proxy, status)
    .select('purge_id')
    .orderBy('purge_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.purge_id ?? 0
}

/** Numbers up to `last` that wait, as many as are written at once, with the requests that were made for them before. */
export async function nextUndelivered(
  db: RecordsDatabase,
  proxy: string,
  status: Undelivered,
  last: number,
): Promise<{ id: number; attempts: number }[]> {
  return undelivered(db, proxy, status)
    .select(['purge_id as id', 'attempts'])
    .where('purge_id', '<=', last)
    .orderBy('purge_id')
    .limit(rowsAtOnce)
    .execute()
}

/** A purge that waits, with what names it to an operator. */
export type WaitingPurge = Pending & { createdAt: number }

/** Purges that wait and were made before a moment, of the oldest as many as are written at once. */
export async function pendingSince(db: RecordsDatabase, proxy: string, before: number): Promise<WaitingPurge[]> {
  const rows = await undelivered(db, proxy, 'pending')
    .select(['purge_id as id', 'created_at', 'kind', 'key', 'soft', 'attempts'])
    .orderBy('purge_id')
    .limit(rowsAtOnce)
    .execute()
  return rows.flatMap(({ created_at, kind, soft, ...row }) =>
    created_at === null || created_at >= before
      ? []
      : [{ ...row, kind: kind ?? 'all', soft: soft === 1, createdAt: created_at }],
  )
}

function undelivered(db: RecordsDatabase, proxy: string, status: Undelivered) {
  return db.selectFrom('purge_deliveries').where('proxy', '=', proxy).where('status', '=', status)
}

export function slices<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / rowsAtOnce) }, (_, index) =>
    list.slice(index * rowsAtOnce, (index + 1) * rowsAtOnce),
  )
}

/** Gives purges up (a slice of them) until somebody asks for them to be tried again, or the proxy answers. */
export async function markGivenUp(
  transaction: RecordsTransaction,
  proxy: string,
  ids: readonly number[],
  error: string | null,
): Promise<void> {
  await transaction
    .updateTable('purge_deliveries')
    .set({ status: 'failed', ...(error !== null && { error }) })
    .where('proxy', '=', proxy)
    .where('purge_id', 'in', ids)
    .execute()
}

/** Proxies for which purges were given up for this reason. */
export async function proxiesGivenUpFor(db: RecordsDatabase, error: string): Promise<string[]> {
  const found = await db
    .selectFrom('purge_deliveries')
    .select('proxy')
    .distinct()
    .where('status', '=', 'failed')
    .where('error', '=', error)
    .execute()
  return found.map(({ proxy }) => proxy)
}

export async function readCircuit(db: RecordsDatabase, proxy: string): Promise<Circuit> {
  const row = await db.selectFrom('reverse_proxy_states').selectAll().where('name', '=', proxy).executeTakeFirst()
  return row === undefined
    ? closed
    : { failures: row.failures, failingSince: row.failing_since, openUntil: row.open_until }
}

/** Writes down what the last attempt showed; `error` null: the proxy has answered. */
export async function writeCircuit(
  transaction: RecordsTransaction,
  proxy: string,
  circuit: Circuit,
  at: number,
  error: string | null,
): Promise<void> {
  const shown = error === null ? { last_delivery_at: at } : { last_error: error, last_failure_at: at }
  const columns = {
    failures: circuit.failures,
    failing_since: circuit.failingSince,
    open_until: circuit.openUntil,
    ...shown,
  }
  await transaction
    .insertInto('reverse_proxy_states')
    .values({ name: proxy, last_error: null, last_failure_at: null, last_delivery_at: null, ...columns })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute()
}

/** Whether a message for the proxy is on the transport `failed` already, where an operator finds it. */
export async function hasFailedMessage(db: RecordsDatabase, key: string): Promise<boolean> {
  const row = await db
    .selectFrom('queue_messages')
    .select('id')
    .where('transport', '=', 'failed')
    .where('key', '=', key)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
