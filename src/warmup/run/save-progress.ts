import { PagecacheError } from '../../errors.ts'
import { orderedId } from '../../queue/ordered-ids.ts'
import type { Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction, WarmupBatchRow } from '../../records/schema.ts'
import { progressOf } from './runs.ts'
import type { WarmupProgress } from './progress.ts'
import { UrlBits } from './url-bits.ts'
import type { UrlOutcome } from './warm.ts'

/** A worker's progress in one batch since its last save. */
export interface BatchChange {
  /** The claimed message of the batch. */
  message: Message
  number: number
  urls: readonly string[]
  /** The URLs whose processing has started, as `UrlBits`. */
  taken: string
  outcomes: ReadonlyMap<number, UrlOutcome>
}

export interface Saved {
  progress: WarmupProgress
  /** Batches whose message another worker holds now; progress in them was not counted. */
  lost: number[]
  /** Finished batches; their messages have been completed. */
  finished: number[]
}

/** Increments to the counts of a run. */
interface Counts {
  checked: number
  processed: number
  skipped: number
  failed: number
  failures: { url: string; variant: number; status: number | null; error: string; attempts: number }[]
}

/**
 * Saves a worker's progress in one transaction, so that finished URLs, counts, failures and completed messages agree after any crash.
 * A URL counts when its bit is set for the first time, and only while the worker holds the message: nothing is counted twice. The
 * last URL completes the run.
 *
 * @param also writes more in the same transaction
 */
export async function saveProgress(
  records: Records,
  work: Pick<Work, 'hold' | 'complete'>,
  save: { runId: string; urlsPerSecond: number; changes: readonly BatchChange[] },
  also: (transaction: RecordsTransaction, now: number) => Promise<void> = async () => {},
): Promise<Saved> {
  return records.db.transaction().execute(async (transaction) => {
    const now = records.now()
    const lost: number[] = []
    const finished: number[] = []
    const counts: Counts = { checked: 0, processed: 0, skipped: 0, failed: 0, failures: [] }
    for (const change of save.changes) {
      const batch = (await holds(work, transaction, change.message))
        ? await readBatch(transaction, save.runId, change.number)
        : null
      if (batch === null) lost.push(change.number)
      else if (await updateBatch(transaction, batch, change, counts, now)) {
        finished.push(change.number)
        await work.complete(change.message, transaction)
      }
    }
    // A worker that has lost all its batches must not overwrite the figures of the workers that hold them now.
    if (lost.length === 0 || lost.length < save.changes.length) {
      await insertFailures(transaction, save.runId, counts.failures, now)
      await addCounts(transaction, save, counts, now)
      await also(transaction, now)
    }
    return { progress: (await progressOf(transaction, save.runId))!, lost, finished }
  })
}

async function holds(work: Pick<Work, 'hold'>, transaction: RecordsTransaction, message: Message): Promise<boolean> {
  try {
    await work.hold(transaction, message)
    return true
  } catch (error) {
    if (error instanceof PagecacheError && error.code === 'LEASE_LOST') return false
    throw error
  }
}

async function readBatch(
  transaction: RecordsTransaction,
  runId: string,
  number: number,
): Promise<WarmupBatchRow | null> {
  const batches = transaction
    .selectFrom('warmup_batches')
    .selectAll()
    .where('run_id', '=', runId)
    .where('number', '=', number)
  return (await batches.executeTakeFirst()) ?? null
}

/** @returns whether the batch is finished */
async function updateBatch(
  transaction: RecordsTransaction,
  batch: WarmupBatchRow,
  change: BatchChange,
  counts: Counts,
  now: number,
): Promise<boolean> {
  const taken = new UrlBits(batch.size, batch.taken)
  const done = new UrlBits(batch.size, batch.done)
  const before = { taken: taken.count, done: done.count }
  const newlyTaken = new UrlBits(batch.size, change.taken)
  for (let index = 0; index < batch.size; index++) if (newlyTaken.has(index)) taken.add(index)
  for (const [index, outcome] of change.outcomes) if (done.add(index)) count(counts, change.urls[index]!, outcome)
  counts.checked += taken.count - before.taken
  await transaction
    .updateTable('warmup_batches')
    .set({
      taken: taken.toString(),
      done: done.toString(),
      ...(done.count > before.done && { openings: 0 }),
      ...(done.complete && batch.finished_at === null && { finished_at: now }),
    })
    .where('run_id', '=', batch.run_id)
    .where('number', '=', batch.number)
    .execute()
  return done.complete
}

function count(counts: Counts, url: string, outcome: UrlOutcome): void {
  if (outcome.kind === 'processed') {
    counts.processed++
    if (outcome.skipped) counts.skipped++
    return
  }
  counts.failed++
  counts.failures.push(...outcome.failures.map((failure) => ({ ...failure, url })))
}

async function insertFailures(
  transaction: RecordsTransaction,
  runId: string,
  failures: Counts['failures'],
  now: number,
): Promise<void> {
  const rows = failures.map(({ url, variant, status, error, attempts }) => ({
    id: orderedId(now),
    run_id: runId,
    url,
    variant,
    status,
    error,
    attempts,
    at: now,
  }))
  // A statement takes a limited number of values.
  for (let from = 0; from < rows.length; from += 100) {
    await transaction
      .insertInto('warmup_failures')
      .values(rows.slice(from, from + 100))
      .execute()
  }
}

async function addCounts(
  transaction: RecordsTransaction,
  { runId, urlsPerSecond }: { runId: string; urlsPerSecond: number },
  counts: Counts,
  now: number,
): Promise<void> {
  const update = transaction.updateTable('warmup_runs').where('id', '=', runId)
  // A run that is no longer running is updated only for URLs that were in flight.
  await (counts.checked + counts.processed + counts.failed > 0 ? update : update.where('status', '=', 'running'))
    .set((expression) => ({
      checked_urls: expression('checked_urls', '+', counts.checked),
      processed_urls: expression('processed_urls', '+', counts.processed),
      skipped_urls: expression('skipped_urls', '+', counts.skipped),
      failed_urls: expression('failed_urls', '+', counts.failed),
      urls_per_second: urlsPerSecond,
      updated_at: now,
    }))
    .execute()
  await completeRun(transaction, runId, now)
}

/** Marks a running run as completed if all its URLs are done. */
export async function completeRun(transaction: RecordsTransaction, runId: string, now: number): Promise<void> {
  await transaction
    .updateTable('warmup_runs')
    .set({ status: 'completed', finished_at: now, updated_at: now })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .where((where) => where(where('processed_urls', '+', where.ref('failed_urls')), '=', where.ref('total_urls')))
    .execute()
}
