import { uuidv7 } from '../lib/uuid.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { UrlFailure } from './attempt.ts'
import { progressOf } from './runs.ts'
import type { WarmupProgress } from './progress.ts'

/** What a worker did in one batch since it last wrote. */
export interface BatchChange {
  number: number
  /** All that is done in the batch, as stored. */
  done: string
  complete: boolean
  inHand: number
  processed: number
  skipped: number
  failed: number
  failures: readonly (UrlFailure & { url: string })[]
  /** Gives the batch back: others may take it. */
  release: boolean
}

export interface Saved {
  progress: WarmupProgress
  /** Batches whose lease is no longer held: what was done in them counts for whoever holds it now. */
  lost: number[]
}

/**
 * Writes what a worker did, in one transaction: the URLs that are done, the counts and the failures agree
 * whatever crashes when. Counts are added only for batches whose lease is still ours, so that no URL is
 * counted twice. The last URL completes the run.
 */
export async function saveProgress(
  records: Records,
  save: { runId: string; lease: string; leaseFor: number; urlsPerSecond: number; changes: readonly BatchChange[] },
): Promise<Saved> {
  return records.db.transaction().execute(async (transaction) => {
    const now = records.now()
    const lost: number[] = []
    const held: BatchChange[] = []
    for (const change of save.changes) {
      if (await updateBatch(transaction, save, change, now)) held.push(change)
      else lost.push(change.number)
    }
    await insertFailures(transaction, save.runId, held, now)
    await addCounts(transaction, save, held, now)
    return { progress: (await progressOf(transaction, save.runId))!, lost }
  })
}

async function updateBatch(
  transaction: RecordsTransaction,
  { runId, lease, leaseFor }: { runId: string; lease: string; leaseFor: number },
  change: BatchChange,
  now: number,
): Promise<boolean> {
  const free = change.complete || change.release
  const { numUpdatedRows } = await transaction
    .updateTable('warmup_batches')
    .set({
      done: change.done,
      in_hand: free ? 0 : change.inHand,
      lease: free ? null : lease,
      leased_until: free ? null : now + leaseFor,
      finished_at: change.complete ? now : null,
    })
    .where('run_id', '=', runId)
    .where('number', '=', change.number)
    .where('lease', '=', lease)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

async function insertFailures(transaction: RecordsTransaction, runId: string, changes: readonly BatchChange[], now: number): Promise<void> {
  const rows = changes
    .flatMap((change) => change.failures)
    .map(({ url, variant, status, error, attempts }) => ({ id: uuidv7(now), run_id: runId, url, variant, status, error, attempts, at: now }))
  // In portions: a statement takes a limited number of values.
  for (let from = 0; from < rows.length; from += 100) {
    await transaction.insertInto('warmup_failures').values(rows.slice(from, from + 100)).execute()
  }
}

async function addCounts(
  transaction: RecordsTransaction,
  { runId, urlsPerSecond }: { runId: string; urlsPerSecond: number },
  changes: readonly BatchChange[],
  now: number,
): Promise<void> {
  const sum = (key: 'processed' | 'skipped' | 'failed') => changes.reduce((total, change) => total + change[key], 0)
  await transaction
    .updateTable('warmup_runs')
    .set((expression) => ({
      processed_urls: expression('processed_urls', '+', sum('processed')),
      skipped_urls: expression('skipped_urls', '+', sum('skipped')),
      failed_urls: expression('failed_urls', '+', sum('failed')),
      urls_per_second: urlsPerSecond,
      updated_at: now,
    }))
    .where('id', '=', runId)
    .execute()
  await transaction
    .updateTable('warmup_runs')
    .set({ status: 'completed', finished_at: now })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .where((where) => where(where('processed_urls', '+', where.ref('failed_urls')), '=', where.ref('total_urls')))
    .execute()
}

/** Ends or interrupts a running run in a status of its own, with the reason. */
export async function setStatus(records: Records, runId: string, status: 'paused' | 'failed', message: string): Promise<void> {
  const now = records.now()
  await records.db
    .updateTable('warmup_runs')
    .set({ status, message, updated_at: now, finished_at: status === 'failed' ? now : null })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .execute()
}

/** The failed URLs of a run, oldest first. Times are milliseconds since the epoch. */
export async function listFailures(records: Records, runId: string, page: { limit: number; offset: number }) {
  const items = await records.db
    .selectFrom('warmup_failures')
    .select(['url', 'variant', 'status', 'error', 'attempts', 'at'])
    .where('run_id', '=', runId)
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { total } = await records.db
    .selectFrom('warmup_failures')
    .select((expression) => expression.fn.countAll<number>().as('total'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  return { total: Number(total), items }
}

/** What the failures of a run say, the commonest first. */
export async function topFailures(records: Records, runId: string, limit: number): Promise<{ error: string; count: number }[]> {
  const rows = await records.db
    .selectFrom('warmup_failures')
    .select((expression) => ['error', expression.fn.countAll<number>().as('count')])
    .where('run_id', '=', runId)
    .groupBy('error')
    .orderBy('count', 'desc')
    .orderBy('error')
    .limit(limit)
    .execute()
  return rows.map(({ error, count }) => ({ error, count: Number(count) }))
}
