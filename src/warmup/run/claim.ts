import type { Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import { unsyncedInSqlite } from '../../records/locks.ts'
import { prepare } from '../../records/statements.ts'
import { batchOf } from './messages.ts'
import { OpenBatch, type StoredBatch } from './open-batch.ts'
import { findBatch, type BatchChange } from './save-progress.ts'
import { UrlBits } from './url-bits.ts'

/**
 * A page may crash the worker that fetches it. After this many claims of a batch without a single finished URL, the rest of the batch
 * is marked as failed. Random kills from outside practically never hit one batch so often before its first page is done.
 */
export const maxOpenings = 10

export type Claimed =
  | { kind: 'open'; batch: OpenBatch }
  /** The batch was finished before; its message has been completed. */
  | { kind: 'finished' }
  /** The batch keeps crashing workers; `change` marks its remaining URLs as failed. */
  | { kind: 'poison'; batch: OpenBatch; change: BatchChange }

/**
 * Opens the batch of a message that this worker has claimed.
 *
 * @throws LEASE_LOST
 */
export async function claimBatch(
  records: Records,
  work: Pick<Work, 'hold' | 'complete'>,
  message: Message,
): Promise<Claimed> {
  return unsyncedInSqlite(records.db).execute(async (transaction) => {
    // Counted here because the queue would count a worker's death against every message it held.
    await work.hold(transaction, message)
    const { run, batch: number } = batchOf(message)
    const row = (await findBatch(transaction, { run, number })).rows[0]
    if (row === undefined || row.finished_at !== null) {
      await work.complete(message, transaction)
      return { kind: 'finished' }
    }
    const stored: StoredBatch = {
      number: row.number,
      urls: JSON.parse(row.urls) as string[],
      taken: row.taken,
      done: row.done,
    }
    const batch = new OpenBatch(message, stored)
    if (row.openings >= maxOpenings) return { kind: 'poison', batch, change: abandonBatch(message, stored) }
    await setOpenings(transaction, { run, number, openings: row.openings + 1 })
    return { kind: 'open', batch }
  })
}

/**
 * Resets the count of openings of a batch that its worker gives back properly.
 *
 * @throws LEASE_LOST
 */
export async function closeBatch(records: Records, work: Pick<Work, 'hold'>, message: Message): Promise<void> {
  const { run, batch: number } = batchOf(message)
  await unsyncedInSqlite(records.db).execute(async (transaction) => {
    await work.hold(transaction, message)
    await setOpenings(transaction, { run, number, openings: 0 })
  })
}

const setOpenings = prepare<{ run: string; number: number; openings: number }>((db, { run, number, openings }) =>
  db.updateTable('warmup_batches').set({ openings }).where('run_id', '=', run).where('number', '=', number),
)

function abandonBatch(message: Message, { number, urls, done }: StoredBatch): BatchChange {
  const bits = new UrlBits(urls.length, done)
  const all = new UrlBits(urls.length)
  const failure = {
    variant: 0,
    status: null,
    error: `given up: ${maxOpenings} workers in a row died while processing this batch`,
    attempts: maxOpenings,
  }
  const outcomes: BatchChange['outcomes'] = new Map(
    urls.flatMap((_, index) => (bits.has(index) ? [] : [[index, { kind: 'failed' as const, failures: [failure] }]])),
  )
  for (const index of urls.keys()) all.add(index)
  return { message, number, urls, taken: all.toString(), outcomes }
}
