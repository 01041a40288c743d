import type { RecordsDatabase, RecordsTransaction } from '../../records/schema.ts'
import { closed, type Circuit } from './circuit.ts'
import type { Pending } from './plan.ts'

/** Most rows of one transaction: it must not hold the write lock for long. */
const batchSize = 500

export type Undelivered = 'pending' | 'failed'

/** Reads the oldest undelivered purges of a proxy. */
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

/** Whether more than `limit` purges of this status are undelivered. */
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

/** The number of the newest undelivered purge, 0 without one. Later purges have higher numbers. */
export async function lastUndelivered(db: RecordsDatabase, proxy: string, status: Undelivered): Promise<number> {
  const row = await undelivered(db, proxy, status)
    .select('purge_id')
    .orderBy('purge_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.purge_id ?? 0
}

/** Reads the next batch of undelivered purges up to the number `last`, with the attempts made so far. */
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
    .limit(batchSize)
    .execute()
}

/** A pending purge with the time from which its public id is made. */
export type DatedPurge = Pending & { createdAt: number }

/** Reads one batch of the oldest pending purges, without those made at or after `before` (milliseconds since the epoch). */
export async function readPendingBefore(db: RecordsDatabase, proxy: string, before: number): Promise<DatedPurge[]> {
  const rows = await undelivered(db, proxy, 'pending')
    .select(['purge_id as id', 'created_at', 'kind', 'key', 'soft', 'attempts'])
    .orderBy('purge_id')
    .limit(batchSize)
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

/** Splits a list into batches of one transaction each. */
export function toBatches<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / batchSize) }, (_, index) =>
    list.slice(index * batchSize, (index + 1) * batchSize),
  )
}

/** Marks one batch of purges as failed, until an operator retries them or the proxy is reachable again. */
export async function markFailed(
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

/** The names of the proxies with purges that failed with this error. */
export async function proxiesFailedWith(db: RecordsDatabase, error: string): Promise<string[]> {
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

/** Saves the circuit after an attempt; `error` is null when the attempt succeeded. */
export async function writeCircuit(
  transaction: RecordsTransaction,
  proxy: string,
  circuit: Circuit,
  at: number,
  error: string | null,
): Promise<void> {
  const lastAttempt = error === null ? { last_delivery_at: at } : { last_error: error, last_failure_at: at }
  const columns = {
    failures: circuit.failures,
    failing_since: circuit.failingSince,
    open_until: circuit.openUntil,
    ...lastAttempt,
  }
  await transaction
    .insertInto('reverse_proxy_states')
    .values({ name: proxy, last_error: null, last_failure_at: null, last_delivery_at: null, ...columns })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute()
}
