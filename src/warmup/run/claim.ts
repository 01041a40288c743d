import type { Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { batchOf } from './messages.ts'
import { OpenBatch, type StoredBatch } from './open-batch.ts'
import type { BatchChange } from './save-progress.ts'
import { UrlBits } from './url-bits.ts'

/**
 * A worker that dies takes with it what it had in hand, and a page may be the cause. After so many openings in which
 * no URL of the batch was done, the rest of it is given up. Kills from outside come at random and do not hit the same
 * batch so often before its first page.
 */
export const mostOpenings = 10

export type Claimed =
  | { kind: 'open'; batch: OpenBatch }
  /** It was finished before; the message has left the queue. */
  | { kind: 'finished' }
  /** What is left of it is to be written as failed. */
  | { kind: 'poisonous'; batch: OpenBatch; change: BatchChange }

/**
 * Opens the batch of a message that this worker holds.
 *
 * @throws LEASE_LOST
 */
export async function claimBatch(
  records: Records,
  work: Pick<Work, 'hold' | 'complete'>,
  message: Message,
): Promise<Claimed> {
  return records.db.transaction().execute(async (transaction) => {
    // Counted here and not by the queue: it would count the death of a worker against all that it held.
    await work.hold(transaction, message)
    const row = await readRow(transaction, message)
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
    if (row.openings >= mostOpenings) return { kind: 'poisonous', batch, change: givenUp(message, stored) }
    await countOpening(transaction, message)
    return { kind: 'open', batch }
  })
}

/**
 * Its worker leaves it in good order: the openings so far say nothing against it.
 *
 * @throws LEASE_LOST
 */
export async function closeBatch(records: Records, work: Pick<Work, 'hold'>, message: Message): Promise<void> {
  const { run, batch } = batchOf(message)
  await records.db.transaction().execute(async (transaction) => {
    await work.hold(transaction, message)
    await transaction
      .updateTable('warmup_batches')
      .set({ openings: 0 })
      .where('run_id', '=', run)
      .where('number', '=', batch)
      .execute()
  })
}

async function readRow(transaction: RecordsTransaction, message: Message) {
  const { run, batch } = batchOf(message)
  return transaction
    .selectFrom('warmup_batches')
    .selectAll()
    .where('run_id', '=', run)
    .where('number', '=', batch)
    .executeTakeFirst()
}

async function countOpening(transaction: RecordsTransaction, message: Message): Promise<void> {
  const { run, batch } = batchOf(message)
  await transaction
    .updateTable('warmup_batches')
    .set((expression) => ({ openings: expression('openings', '+', 1) }))
    .where('run_id', '=', run)
    .where('number', '=', batch)
    .execute()
}

function givenUp(message: Message, { number, urls, done }: StoredBatch): BatchChange {
  const bits = new UrlBits(urls.length, done)
  const all = new UrlBits(urls.length)
  const failure = {
    variant: 0,
    status: null,
    error: `given up: ${mostOpenings} workers in a row died over this batch`,
    attempts: mostOpenings,
  }
  const outcomes: BatchChange['outcomes'] = new Map(
    urls.flatMap((_, index) => (bits.has(index) ? [] : [[index, { kind: 'failed' as const, failures: [failure] }]])),
  )
  for (const index of urls.keys()) all.add(index)
  return { message, number, urls, taken: all.toString(), outcomes }
}
