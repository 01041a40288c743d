import { PagecacheError } from '../../errors.ts'
import { orderedId } from '../../lib/ordered-id.ts'
import type { Message, Work } from '../../queue/queue.ts'
import type { Records } from '../../records/open.ts'
import { unsyncedInSqlite } from '../../records/locks.ts'
import type { RecordsTransaction, WarmupBatchRow } from '../../records/schema.ts'
import { prepare } from '../../records/statements.ts'
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
 * last URL completes the run. A power cut may undo it: the worker is gone too, and the next one finds the pages fresh.
 *
 * @param also writes more in the same transaction
 */
export async function saveProgress(
  records: Records,
  work: Pick<Work, 'hold' | 'complete'>,
  save: { runId: string; urlsPerSecond: number; changes: readonly BatchChange[] },
  also: (transaction: RecordsTransaction, now: number) => Promise<void> = async () => {},
): Promise<Saved> {
  return unsyncedInSqlite(records.db).execute(async (transaction) => {
    const now = records.now()
    const lost: number[] = []
    const finished: number[] = []
    const counts: Counts = { checked: 0, processed: 0, skipped: 0, failed: 0, failures: [] }
    for (const change of save.changes) {
      const batch = (await holds(work, transaction, change.message))
        ? (await findBatch(transaction, { run: save.runId, number: change.number })).rows[0]
        : undefined
      if (batch === undefined) lost.push(change.number)
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

/** The row of a batch. */
export const findBatch = prepare<{ run: string; number: number }, WarmupBatchRow>((db, { run, number }) =>
  db.selectFrom('warmup_batches').selectAll().where('run_id', '=', run).where('number', '=', number),
)

const writeBatch = prepare<Pick<WarmupBatchRow, 'run_id' | 'number' | 'taken' | 'done' | 'openings' | 'finished_at'>>(
  (db, { run_id, number, taken, done, openings, finished_at }) =>
    db
      .updateTable('warmup_batches')
      .set({ taken, done, openings, finished_at })
      .where('run_id', '=', run_id)
      .where('number', '=', number),
)

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
  await writeBatch(transaction, {
    run_id: batch.run_id,
    number: batch.number,
    taken: taken.toString(),
    done: done.toString(),
    openings: done.count > before.done ? 0 : batch.openings,
    finished_at: batch.finished_at ?? (done.complete ? now : null),
  })
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

interface RunChange {
  run: string
  checked: number
  processed: number
  skipped: number
  failed: number
  urlsPerSecond: number
  now: number
}

/** Adds to the counts of a run; prepared for runs with any status, and for running ones. */
const addToRun = [false, true].map((isOnlyRunning) =>
  prepare<RunChange>((db, { run, checked, processed, skipped, failed, urlsPerSecond, now }) => {
    const update = db.updateTable('warmup_runs').where('id', '=', run)
    return (isOnlyRunning ? update.where('status', '=', 'running') : update).set((expression) => ({
      checked_urls: expression('checked_urls', '+', checked),
      processed_urls: expression('processed_urls', '+', processed),
      skipped_urls: expression('skipped_urls', '+', skipped),
      failed_urls: expression('failed_urls', '+', failed),
      urls_per_second: urlsPerSecond,
      updated_at: now,
    }))
  }),
)

async function addCounts(
  transaction: RecordsTransaction,
  { runId, urlsPerSecond }: { runId: string; urlsPerSecond: number },
  { checked, processed, skipped, failed }: Counts,
  now: number,
): Promise<void> {
  // A run that is no longer running is updated only for URLs that were in flight.
  const isOnlyRunning = checked + processed + failed === 0
  const add = addToRun[Number(isOnlyRunning)]!
  await add(transaction, { run: runId, checked, processed, skipped, failed, urlsPerSecond, now })
  await completeRun(transaction, runId, now)
}

/** Marks a running run as completed if all its URLs are done. */
export async function completeRun(transaction: RecordsTransaction, runId: string, now: number): Promise<void> {
  await completeDone(transaction, { runId, now })
}

const completeDone = prepare<{ runId: string; now: number }>((db, { runId, now }) =>
  db
    .updateTable('warmup_runs')
    .set({ status: 'completed', finished_at: now, updated_at: now })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .where((where) => where(where('processed_urls', '+', where.ref('failed_urls')), '=', where.ref('total_urls'))),
)
