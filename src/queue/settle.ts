import { PagecacheError } from '../errors.ts'
import { prepare } from '../records/statements.ts'
import type { QueueMessageRow } from '../records/queue-rows.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'

/** Crashes of workers, without progress in between, after which a message fails. */
const crashLimit = 3

/** A leased message. */
export interface Held {
  readonly id: string
  readonly lease: string
}

export function leaseLost(id: string): PagecacheError {
  return new PagecacheError('LEASE_LOST', `Message ${id} is no longer held by this worker`)
}

/** Locks the message: a worker that is taken over meanwhile has written its result first, or not at all. */
const findHeld = prepare<Held, QueueMessageRow>((db, { id, lease }) =>
  db.selectFrom('queue_messages').selectAll().where('id', '=', id).where('lease', '=', lease).forUpdate(),
)

/** Reads a message and resets its crashes, because writing a result is progress. @throws LEASE_LOST unless it is held under this lease */
export async function assertHeld(transaction: RecordsTransaction, held: Held): Promise<QueueMessageRow> {
  const [row] = (await findHeld(transaction, held)).rows
  if (!row) throw leaseLost(held.id)
  if (row.crashes > 0)
    await transaction.updateTable('queue_messages').set({ crashes: 0 }).where('id', '=', held.id).execute()
  return row
}

/** Deletes a message; false if it is no longer held under this lease. */
export async function removeIfHeld(db: RecordsDatabase, held: Held): Promise<boolean> {
  return (await deleteHeld(db, held)).numAffectedRows === 1n
}

const deleteHeld = prepare<Held>((db, { id, lease }) =>
  db.deleteFrom('queue_messages').where('id', '=', id).where('lease', '=', lease),
)

/** The leases that a worker has in the records. */
export const leasesOf = prepare<{ worker: string }, Held>((db, { worker }) =>
  db
    .selectFrom('queue_messages')
    .select(['id', 'lease'])
    .where('worker', '=', worker)
    .where('lease', 'is not', null)
    .$castTo<Held>(),
)

/** Makes a held message wait again. It replaces a waiting message with the same key, because it has the count of attempts. */
export async function putBack(
  transaction: RecordsTransaction,
  row: QueueMessageRow,
  change: Partial<
    Pick<QueueMessageRow, 'attempts' | 'crashes' | 'last_error' | 'transport' | 'origin' | 'failed_at'>
  > & { now: number; delay: number },
): Promise<void> {
  const { now, delay, ...rest } = change
  if (row.key !== null) {
    await transaction
      .deleteFrom('queue_messages')
      .where('key', '=', row.key)
      .where('lease', 'is', null)
      .where('failed_at', 'is', null)
      .execute()
  }
  await transaction
    .updateTable('queue_messages')
    .set({ ...rest, lease: null, worker: null, available_at: now + delay, delay })
    .where('id', '=', row.id)
    .execute()
}

/** Moves a message to the transport `failed`. */
export async function moveToFailed(
  transaction: RecordsTransaction,
  row: QueueMessageRow,
  change: { now: number; attempts: number; crashes: number; error: string },
): Promise<void> {
  const { now, attempts, crashes, error } = change
  await transaction
    .updateTable('queue_messages')
    .set({
      transport: 'failed',
      origin: row.transport === 'failed' ? row.origin : row.transport,
      failed_at: now,
      attempts,
      crashes,
      last_error: error,
      lease: null,
      worker: null,
    })
    .where('id', '=', row.id)
    .execute()
}

/** Puts back the messages of a dead worker and counts a crash for each; after `crashLimit` crashes a message fails. */
export async function putBackAfterCrash(transaction: RecordsTransaction, workerId: string, now: number): Promise<void> {
  const rows = await transaction
    .selectFrom('queue_messages')
    .selectAll()
    .where('worker', '=', workerId)
    .where('lease', 'is not', null)
    .forUpdate()
    .execute()
  for (const row of rows) {
    const crashes = row.crashes + 1
    if (crashes < crashLimit) await putBack(transaction, row, { now, delay: 0, crashes })
    else
      await moveToFailed(transaction, row, {
        now,
        attempts: row.attempts,
        crashes,
        error: `${crashes} workers died while handling this message`,
      })
  }
}

/** Puts back the messages that a leaving worker still holds. */
export async function putBackAll(transaction: RecordsTransaction, workerId: string, now: number): Promise<void> {
  const rows = await transaction
    .selectFrom('queue_messages')
    .selectAll()
    .where('worker', '=', workerId)
    .where('lease', 'is not', null)
    .execute()
  for (const row of rows) await putBack(transaction, row, { now, delay: 0 })
}
