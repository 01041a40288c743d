import { setImmediate as nextTurn } from 'node:timers/promises'
import type { QueueMessageRow } from '../records/queue-rows.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { orderedId } from './ordered-ids.ts'
import type { NewMessage } from './queue.ts'

/** Rows of one INSERT, after which other work has its turn. */
const rowsAtOnce = 50

/**
 * Adds messages to the queue, in the caller's transaction where `db` is one: a message and the reason for it
 * commit together. `now` is milliseconds since the epoch. How many were added: merged ones are not.
 */
export async function dispatch(db: RecordsDatabase, now: number, messages: Iterable<NewMessage>): Promise<number> {
  let added = 0
  let rows: QueueMessageRow[] = []
  const flush = async () => {
    if (rows.length > 0) added += await insert(db, rows)
    rows = []
    await nextTurn()
  }
  for (const message of messages) {
    const row = toRow(message, orderedId(now), now)
    if (message.postpone && row.key !== null) {
      // One with the same key may be among those that are not written yet.
      await flush()
      await postpone(db, row)
    }
    rows.push(row)
    if (rows.length === rowsAtOnce) await flush()
  }
  await flush()
  return added
}

/** A key that waits already takes the row in: only the others are written. */
async function insert(db: RecordsDatabase, rows: readonly QueueMessageRow[]): Promise<number> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('queue_messages')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows)
}

/** Puts off what waits with the key of a message that is about to be merged into it. */
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
