import type { RecordsDatabase } from '../records/schema.ts'
import type { Transport } from './queue.ts'

/** What other rooms ask about messages. Each question is one step in an index. */

/** Whether a message of this type is on the transport, waiting or held by a worker. */
export async function hasMessageOfType(db: RecordsDatabase, transport: Transport, type: string): Promise<boolean> {
  const row = await db
    .selectFrom('queue_messages')
    .select('id')
    .where('transport', '=', transport)
    .where('type', '=', type)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether a message whose key starts with `keyPrefix` is waiting or held by a worker. */
export async function hasMessageWithPrefix(db: RecordsDatabase, keyPrefix: string): Promise<boolean> {
  const row = await db
    .selectFrom('queue_messages')
    .select('id')
    .where('key', '>=', keyPrefix)
    .where('key', '<', `${keyPrefix}\uffff`)
    .where('failed_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The group of a waiting message whose key starts with `keyPrefix`; null without one. */
export async function findWaitingGroup(db: RecordsDatabase, keyPrefix: string): Promise<string | null> {
  const row = await db
    .selectFrom('queue_messages')
    .select('group')
    .where('key', '>=', keyPrefix)
    .where('key', '<', `${keyPrefix}\uffff`)
    .where('lease', 'is', null)
    .where('failed_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row?.group ?? null
}

/** Whether a message with this key is on the transport `failed`, where an operator can see and retry it. */
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

/** The error of a message of this type that failed at or after `since` (milliseconds since the epoch); null without one. */
export async function findFailure(db: RecordsDatabase, type: string, since: number): Promise<string | null> {
  const row = await db
    .selectFrom('queue_messages')
    .select('last_error')
    .where('transport', '=', 'failed')
    .where('type', '=', type)
    .where('failed_at', '>=', since)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : (row.last_error ?? 'the message failed without an error')
}

/** Deletes at most `limit` waiting messages whose key starts with `keyPrefix`. Returns how many it deleted. */
export async function withdraw(db: RecordsDatabase, keyPrefix: string, limit: number): Promise<number> {
  const waiting = db
    .selectFrom('queue_messages')
    .select('id')
    .where('key', '>=', keyPrefix)
    .where('key', '<', `${keyPrefix}\uffff`)
    .where('lease', 'is', null)
    .where('failed_at', 'is', null)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('queue_messages').where('id', 'in', waiting).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
