import { randomUUID } from 'node:crypto'
import { prepare, type Prepared } from '../records/statements.ts'
import type { QueueMessageRow } from '../records/queue-rows.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { Message, Transport } from './queue.ts'

interface NewLease {
  lease: string
  worker: string
  /** Milliseconds since the epoch. */
  now: number
}

/** Leases of one call of a handler begin with the same characters. */
const callLength = 36

/** @param first the lease of the message that the handler was called for; none for a new call */
export function newLease(first?: string): string {
  return first === undefined ? randomUUID() : `${callOf(first)}.${randomUUID()}`
}

function callOf(lease: string): string {
  return lease.slice(0, callLength)
}

/**
 * Leases messages of different groups that this transaction has locked with their groups. Returns those that it got, in the order of the
 * ids: not one whose group is held by another call of a handler, none that was delayed or has failed before it was locked, and none for a worker
 * that others have taken over.
 */
export async function leaseMessages(
  transaction: RecordsTransaction,
  ids: readonly string[],
  lease: NewLease,
): Promise<Message[]> {
  let statement = leases.get(ids.length)
  if (statement === undefined) leases.set(ids.length, (statement = prepareLease(ids.length)))
  const { rows } = await statement(transaction, { ...lease, call: callOf(lease.lease), ...ids })
  return ids.flatMap((id) => rows.filter((row) => row.id === id).map(toMessage))
}

/** The ids have their positions as names. */
type Values = NewLease & { call: string } & Record<number, string>

/** By the number of messages. */
const leases = new Map<number, Prepared<Values, QueueMessageRow>>()

function prepareLease(count: number): Prepared<Values, QueueMessageRow> {
  return prepare<Values, QueueMessageRow>((db, values) => {
    const ids = Array.from({ length: count }, (_, position) => values[position]!)
    return leaseUnlessHeld(db, ids, values)
  })
}

function leaseUnlessHeld(
  db: RecordsDatabase,
  ids: readonly string[],
  { lease, call, worker, now }: Omit<Values, number>,
) {
  return (
    db
      .updateTable('queue_messages')
      .set({ lease, worker, taken_at: now })
      .where('id', 'in', ids)
      .where('lease', 'is', null)
      // Written so that SQLite finds the messages by their ids, not by an index of all waiting ones.
      .where('transport', '!=', 'failed')
      .where((where) => where(where('available_at', '-', now), '<=', 0))
      .where(({ not, exists, selectFrom }) => {
        const held = selectFrom('queue_messages as held')
          .select('held.id')
          .whereRef('held.group', '=', 'queue_messages.group')
          .where('held.lease', 'is not', null)
          .where(({ fn, lit }) => fn<string>('substr', ['held.lease', lit(1), lit(callLength)]), '!=', call)
        return not(exists(held))
      })
      .where(({ exists, selectFrom }) =>
        exists(selectFrom('queue_workers').select('id').where('id', '=', worker).forKeyShare()),
      )
      .returningAll()
  )
}

function toMessage(row: QueueMessageRow): Message {
  return {
    id: row.id,
    transport: row.transport as Transport,
    type: row.type,
    payload: JSON.parse(row.payload) as unknown,
    group: row.group,
    key: row.key,
    attempts: row.attempts,
    createdAt: row.created_at,
    lease: row.lease!,
  }
}
