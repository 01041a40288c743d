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
  let keyed = 0
  let plain: QueueMessageRow[] = []
  const flush = async () => {
    if (plain.length > 0) await db.insertInto('queue_messages').values(plain).execute()
    added += plain.length
    plain = []
    await nextTurn()
  }
  for (const message of messages) {
    const row = toRow(message, orderedId(now), now)
    if (row.key !== null) {
      if (await merge(db, row, message.postpone ?? false)) added++
      if (++keyed % rowsAtOnce === 0) await nextTurn()
      continue
    }
    plain.push(row)
    if (plain.length === rowsAtOnce) await flush()
  }
  await flush()
  return added
}

async function merge(db: RecordsDatabase, row: QueueMessageRow, postpone: boolean): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('queue_messages')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 1n) return true
  if (postpone) {
    await db
      .updateTable('queue_messages')
      .set({ available_at: row.available_at, delay: row.delay })
      .where('key', '=', row.key)
      .where('lease', 'is', null)
      .where('failed_at', 'is', null)
      .execute()
  }
  return false
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
