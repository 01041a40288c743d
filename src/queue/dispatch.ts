import { setImmediate as nextTurn } from 'node:timers/promises'
import { isPostgres } from '../records/locks.ts'
import { prepareRows } from '../records/statements.ts'
import type { QueueMessageRow } from '../records/queue-rows.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { orderedId } from '../lib/ordered-id.ts'
import type { NewMessage } from './queue.ts'

/** Rows of one INSERT; after each one the event loop has a turn. */
const batchSize = 64

/**
 * Adds messages to the queue, in the caller's transaction if `db` is one, so that a message and the reason for it commit together.
 * `now` is milliseconds since the epoch. Returns how many were added, without those merged into a waiting message.
 */
export async function dispatch(db: RecordsDatabase, now: number, messages: Iterable<NewMessage>): Promise<number> {
  let added = 0
  let rows: QueueMessageRow[] = []
  const flush = async () => {
    if (rows.length > 0) added += await insert(db, rows)
    rows = []
  }
  for (const message of messages) {
    const row = toRow(message, orderedId(now), now)
    if (message.postpone && row.key !== null) {
      // A message with the same key may be among the rows that are not written yet.
      await flush()
      await postpone(db, row)
    }
    rows.push(row)
    if (rows.length < batchSize) continue
    await flush()
    await nextTurn()
  }
  await flush()
  return added
}

/**
 * Inserts rows, without those whose key a waiting message already has. Returns how many were inserted. In PostgreSQL, workers take no
 * message into which this transaction has merged one before it commits: they would not see what it has written.
 */
async function insert(db: RecordsDatabase, rows: readonly QueueMessageRow[]): Promise<number> {
  const inserted = await insertRows.execute(db, rows)
  if (inserted.length === rows.length || !isPostgres(db)) return inserted.length
  const ids = new Set(inserted.map(({ id }) => id))
  const keys = rows.flatMap(({ id, key }) => (key === null || ids.has(id) ? [] : [key]))
  await db
    .selectFrom('queue_messages')
    .select('id')
    .where('key', 'in', keys)
    .where('lease', 'is', null)
    .where('failed_at', 'is', null)
    .forShare()
    .execute()
  return inserted.length
}

const insertRows = prepareRows<QueueMessageRow, { id: string }>(
  [
    'id',
    'transport',
    'type',
    'payload',
    'group',
    'key',
    'available_at',
    'delay',
    'attempts',
    'crashes',
    'lease',
    'worker',
    'taken_at',
    'created_at',
    'last_error',
    'failed_at',
    'origin',
  ],
  (rows, db) =>
    db
      .insertInto('queue_messages')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('id'),
)

/** Delays the waiting message with this row's key to the row's time. */
async function postpone(db: RecordsDatabase, { key, available_at, delay }: QueueMessageRow): Promise<void> {
  await db
    .updateTable('queue_messages')
    .set({ available_at, delay })
    .where('key', '=', key)
    .where('lease', 'is', null)
    .where('failed_at', 'is', null)
    .execute()
}

function toRow(message: NewMessage, id: string, now: number): QueueMessageRow {
  const delay = Math.max(0, Math.round(message.delay ?? 0))
  return {
    id,
    transport: message.transport,
    type: message.type,
    payload: JSON.stringify(message.payload ?? null),
    group: message.group ?? null,
    key: message.key ?? null,
    available_at: now + delay,
    delay,
    attempts: 0,
    crashes: 0,
    lease: null,
    worker: null,
    taken_at: null,
    created_at: now,
    last_error: null,
    failed_at: null,
    origin: null,
  }
}
