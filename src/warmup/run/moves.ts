import { setImmediate as nextTurn } from 'node:timers/promises'
import { PagecacheError } from '../../errors.ts'
import { dispatch } from '../../queue/dispatch.ts'
import { withdraw } from '../../queue/find-messages.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction, WarmupRunRow, WarmupStatus } from '../../records/schema.ts'
import { batchKeys, batchMessage } from './messages.ts'
import { toProgress, type WarmupProgress } from './progress.ts'
import { completeRun } from './save-progress.ts'

/** Where a channel's shop answers; null for a channel that is not configured any more. */
export type OriginOfChannel = (channelId: string) => string | null

/** Messages of a run that are taken off the queue in one transaction. */
const withdrawnAtOnce = 1000

/**
 * The moves of contract section 4, each of which holds for every process from its commit on: workers read the state of
 * the run with everything that they write.
 *
 * @param id the latest run without it
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

/** Cancels a run: what is being fetched is given up, what was done stays in the cache and in the counts. */
export async function cancelRun(records: Records, id: string | undefined): Promise<WarmupProgress> {
  const run = await move(records, id, 'cancel', ['running', 'paused'], (_, now) => ({
    status: 'cancelled',
    finished_at: now,
    paused_at: null,
  }))
  await withdrawWaiting(records, run.id)
  return toProgress(run)
}

/** Puts every batch that is not finished back on the queue, together with the new state. */
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
      // What was in flight when it was paused may have been the last.
      await completeRun(transaction, runId, now)
    },
  )
  return toProgress(run)
}

/** A running run that cannot go on. */
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
        hint: 'pagecache warmup:list shows those there are.',
      })
    if (!from.includes(run.status))
      throw new PagecacheError(
        'WRONG_STATE',
        `The warmup ${run.id} is ${run.status}: only one that is ${from.join(' or ')} can be ${past[verb]}.`,
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

const past: Readonly<Record<string, string>> = { pause: 'paused', cancel: 'cancelled', resume: 'resumed' }

/** In slices, as long as the run stays out of work: it may be resumed meanwhile. What is left over, its workers drop. */
async function withdrawWaiting(records: Records, runId: string): Promise<void> {
  for (let gone = withdrawnAtOnce; gone === withdrawnAtOnce; await nextTurn()) {
    gone = await records.db.transaction().execute(async (transaction) => {
      const run = await transaction
        .selectFrom('warmup_runs')
        .select('status')
        .where('id', '=', runId)
        .executeTakeFirst()
      return run?.status === 'running' ? 0 : withdraw(transaction, batchKeys(runId), withdrawnAtOnce)
    })
  }
}

/** Batches read in one statement. */
const batchesAtOnce = 1000

/** A message for each batch that is not finished; one that waits already is not added again. */
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
    // Without its channel nothing of a batch can be fetched; its worker finds and says so.
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
