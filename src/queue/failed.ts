import type { QueueMessageRow } from '../records/queue-rows.ts'
import type { Records } from '../records/open.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { FailedMessage, Transport } from './queue.ts'
import { putBack } from './settle.ts'

export interface FailedFilter {
  type?: string
  transport?: Transport
}

/** Messages of one transaction; other writers get the lock in between. */
const batchSize = 200

export async function listFailed(
  db: RecordsDatabase,
  page: { limit: number; offset: number } & FailedFilter,
): Promise<{ total: number; items: FailedMessage[] }> {
  const rows = await failed(db, page)
    .selectAll()
    .orderBy('failed_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { total } = await failed(db, page)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { total: Number(total), items: rows.map(toFailed) }
}

export async function readFailed(
  db: RecordsDatabase,
  id: string,
): Promise<(FailedMessage & { payload: unknown }) | null> {
  const row = await failed(db, {}).selectAll().where('id', '=', id).executeTakeFirst()
  return row ? { ...toFailed(row), payload: JSON.parse(row.payload) as unknown } : null
}

/** Puts failed messages back on their transports (`ids` null: all of them), in batches. Returns how many. */
export async function retryFailed(
  records: Records,
  now: () => number,
  ids: readonly string[] | null,
  filter: FailedFilter,
): Promise<number> {
  return inBatches(records, ids, filter, async (transaction, row) => {
    await putBack(transaction, row, {
      now: now(),
      delay: 0,
      attempts: 0,
      crashes: 0,
      transport: row.origin!,
      origin: null,
      failed_at: null,
    })
  })
}

/** Deletes failed messages (`ids` null: all of them), in batches. Returns how many. */
export async function removeFailed(
  records: Records,
  ids: readonly string[] | null,
  filter: FailedFilter,
): Promise<number> {
  return inBatches(records, ids, filter, async (transaction, { id }) => {
    await transaction.deleteFrom('queue_messages').where('id', '=', id).execute()
  })
}

/**
 * Deletes a slice of the messages of a type that failed before `before` (milliseconds since the epoch).
 *
 * @returns the number of deleted messages; 0 if none is left
 */
export async function pruneFailed(
  { db }: Records,
  { before, limit, type }: { before: number; limit: number; type: string },
): Promise<number> {
  const old = failed(db, { type }).select('id').where('failed_at', '<', before).limit(limit)
  const { numDeletedRows } = await db.deleteFrom('queue_messages').where('id', 'in', old).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

async function inBatches(
  records: Records,
  ids: readonly string[] | null,
  filter: FailedFilter,
  change: (transaction: RecordsTransaction, row: QueueMessageRow) => Promise<void>,
): Promise<number> {
  let total = 0
  for (let from = 0; ; from += batchSize) {
    const part = ids?.slice(from, from + batchSize)
    if (part?.length === 0) return total
    const done = await records.db.transaction().execute(async (transaction) => {
      const rows = failed(transaction, filter).selectAll().orderBy('id').limit(batchSize)
      const found = await (part === undefined ? rows : rows.where('id', 'in', part)).execute()
      for (const row of found) await change(transaction, row)
      return found.length
    })
    total += done
    if (part === undefined && done < batchSize) return total
  }
}

function failed(db: RecordsDatabase, { type, transport }: FailedFilter) {
  let query = db.selectFrom('queue_messages').where('transport', '=', 'failed').where('lease', 'is', null)
  if (type !== undefined) query = query.where('type', '=', type)
  if (transport !== undefined) query = query.where('origin', '=', transport)
  return query
}

function toFailed(row: QueueMessageRow): FailedMessage {
  return {
    id: row.id,
    type: row.type,
    transport: row.origin!,
    group: row.group,
    attempts: row.attempts,
    crashes: row.crashes,
    error: row.last_error ?? '',
    createdAt: row.created_at,
    failedAt: row.failed_at!,
  }
}
