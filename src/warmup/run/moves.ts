import { setImmediate as nextTurn } from 'node:timers/promises'
import { PagecacheError } from '../../errors.ts'
import { dispatch } from '../../queue/dispatch.ts'
import { withdraw } from '../../queue/find-messages.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction, WarmupRunRow, WarmupStatus } from '../../records/schema.ts'
import { batchKeys, batchMessage } from './messages.ts'
import { toProgress, type WarmupProgress } from './progress.ts'
import { completeRun } from './save-progress.ts'

/** The origin of a channel; null if the channel is no longer configured. */
export type OriginOfChannel = (channelId: string) => string | null

/** Messages withdrawn from the queue per transaction. */
const withdrawBatchSize = 1000

/**
 * Pauses a run. Every change of status applies to all processes from its commit on: workers read the status of the run whenever they
 * write progress.
 *
 * @param id the latest run if undefined
 * @param message shown with the paused run
 * @throws NOT_FOUND, WRONG_STATE
 */
export async function pauseRun(
  records: Records,
  id: string | undefined,
  message: string | null = null,
): Promise<WarmupProgress> {
  const run = await move(records, id, 'pause', ['running'], (_, now) => ({ status: 'paused', message, paused_at: now }))
  await withdrawWaiting(records, run.id)
  return toProgress(run)
}

/** Cancels a run. Requests in flight are aborted; finished pages stay cached and counted. */
export async function cancelRun(records: Records, id: string | undefined): Promise<WarmupProgress> {
  const run = await move(records, id, 'cancel', ['running', 'paused'], (_, now) => ({
    status: 'cancelled',
    finished_at: now,
    paused_at: null,
  }))
  await withdrawWaiting(records, run.id)
  return toProgress(run)
}

/** Resumes a run: queues its unfinished batches in the transaction that changes its status. */
export async function resumeRun(
  records: Records,
  id: string | undefined,
  originOf: OriginOfChannel,
): Promise<WarmupProgress> {
  const run = await move(
    records,
    id,
    'resume',
    ['paused'],
    ({ paused_at, paused_for }, now) => ({
      status: 'running',
      message: null,
      paused_at: null,
      paused_for: paused_for + now - (paused_at ?? now),
    }),
    async (transaction, { id: runId }, now) => {
      await dispatchOpenBatches(transaction, runId, originOf, now)
      // The requests in flight at the pause may have been the last ones.
      await completeRun(transaction, runId, now)
    },
  )
  return toProgress(run)
}

/**
 * Changes the concurrency of a run that has not ended. All its workers apply it, until it is changed again.
 *
 * @param change gets the concurrency that was set for the run, and returns the new one; null: as configured
 */
export async function changeConcurrency(
  records: Records,
  id: string,
  change: (concurrency: number | null) => number | null,
): Promise<WarmupProgress> {
  const run = await move(records, id, 'change', ['running', 'paused'], ({ concurrency }) => ({
    concurrency: change(concurrency),
  }))
  return toProgress(run)
}

/** Marks a running run as failed. */
export async function failRun(records: Records, id: string, message: string): Promise<void> {
  const now = records.now()
  const failed = { status: 'failed', message, updated_at: now, finished_at: now } as const
  await records.db.updateTable('warmup_runs').set(failed).where('id', '=', id).where('status', '=', 'running').execute()
}

async function move(
  records: Records,
  id: string | undefined,
  verb: string,
  from: readonly WarmupStatus[],
  change: (run: WarmupRunRow, now: number) => Partial<WarmupRunRow>,
  also: (transaction: RecordsTransaction, run: WarmupRunRow, now: number) => Promise<void> = async () => {},
): Promise<WarmupRunRow> {
  return records.db.transaction().execute(async (transaction) => {
    const now = records.now()
    const runs = transaction.selectFrom('warmup_runs').selectAll()
    const run = await (
      id === undefined ? runs.orderBy('id', 'desc').limit(1) : runs.where('id', '=', id)
    ).executeTakeFirst()
    if (!run)
      throw new PagecacheError('NOT_FOUND', id === undefined ? 'There is no warmup.' : `There is no warmup ${id}.`, {
        hint: 'Run pagecache warmup:list to see all warmups.',
      })
    if (!from.includes(run.status))
      throw new PagecacheError(
        'WRONG_STATE',
        `Warmup ${run.id} is ${run.status}: only a ${from.join(' or ')} warmup can be ${participles[verb]}.`,
      )
    await transaction
      .updateTable('warmup_runs')
      .set({ ...change(run, now), updated_at: now })
      .where('id', '=', run.id)
      .execute()
    await also(transaction, run, now)
    return transaction.selectFrom('warmup_runs').selectAll().where('id', '=', run.id).executeTakeFirstOrThrow()
  })
}

const participles: Readonly<Record<string, string>> = {
  pause: 'paused',
  cancel: 'cancelled',
  resume: 'resumed',
  change: 'changed',
}

/** Withdraws the waiting messages of a run in slices, unless it is resumed meanwhile. Workers drop any message that is left. */
async function withdrawWaiting(records: Records, runId: string): Promise<void> {
  for (let gone = withdrawBatchSize; gone === withdrawBatchSize; await nextTurn()) {
    gone = await records.db.transaction().execute(async (transaction) => {
      const run = await transaction
        .selectFrom('warmup_runs')
        .select('status')
        .where('id', '=', runId)
        .executeTakeFirst()
      return run?.status === 'running' ? 0 : withdraw(transaction, batchKeys(runId), withdrawBatchSize)
    })
  }
}

/** Batches read per statement. */
const batchesAtOnce = 1000

/** Queues a message for each unfinished batch that has none waiting. */
export async function dispatchOpenBatches(
  transaction: RecordsTransaction,
  runId: string,
  originOf: OriginOfChannel,
  now: number,
): Promise<void> {
  for (let from = -1, more = true; more;) {
    const open = await transaction
      .selectFrom('warmup_batches')
      .select(['number', 'sales_channel_id'])
      .where('run_id', '=', runId)
      .where('finished_at', 'is', null)
      .where('number', '>', from)
      .orderBy('number')
      .limit(batchesAtOnce)
      .execute()
    // A batch of a removed channel cannot be fetched: its worker reports that per URL.
    await dispatch(
      transaction,
      now,
      open.map((batch) =>
        batchMessage(runId, batch.number, originOf(batch.sales_channel_id) ?? batch.sales_channel_id),
      ),
    )
    from = open.at(-1)?.number ?? from
    more = open.length === batchesAtOnce
  }
}
