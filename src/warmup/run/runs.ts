import { setImmediate as nextTurn } from 'node:timers/promises'
import { dispatch } from '../../queue/dispatch.ts'
import type { NewMessage } from '../../queue/queue.ts'
import { orderedId } from '../../lib/ordered-id.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsDatabase, RecordsTransaction, WarmupBatchRow, WarmupRunRow } from '../../records/schema.ts'
import { prepare } from '../../records/statements.ts'
import { batchMessage } from './messages.ts'
import type { RunDiscovery } from '../discover/plan.ts'
import { toProgress, type WarmupProgress } from './progress.ts'

export interface NewRun {
  salesChannelId: string | null
  batchSize: number
  force: boolean
  /** Concurrent requests per origin; absent or null: as configured. */
  concurrency?: number | null
  /** Why discovery failed, which makes the run `failed` from the start; null if it succeeded. */
  failure: string | null
  /** Shown with the run. */
  message?: string
  discovery: RunDiscovery
  /** The URLs of each channel, in warming order. */
  lists: readonly { channelId: string; origin: string; urls: Iterable<string> }[]
}

/** URLs and batches per transaction, and rows per statement. Other work proceeds between transactions. */
const urlsAtOnce = 2000
const batchesAtOnce = 200
const rowsAtOnce = 20

/**
 * Creates a run. Its batches are written first, in short transactions: without their run they have no effect. Then the run and the
 * messages of its batches are written in one transaction, so that it exists completely or not at all. A run without URLs is
 * `completed` at once.
 *
 * @param also writes more in the transaction of the run
 */
export async function createRun(
  records: Records,
  run: NewRun,
  also: (transaction: RecordsTransaction, id: string) => Promise<void> = async () => {},
): Promise<WarmupProgress> {
  const id = orderedId(records.now())
  const batches = run.failure === null ? await writeBatches(records, id, run) : []
  const now = records.now()
  const row = newRow(id, run, now)
  await records.db.transaction().execute(async (transaction) => {
    await transaction.insertInto('warmup_runs').values(row).execute()
    await dispatch(transaction, now, messagesOf(id, batches))
    await also(transaction, id)
  })
  return toProgress(row)
}

function newRow(id: string, run: NewRun, now: number): WarmupRunRow {
  const total = run.discovery.total
  const status = run.failure !== null ? 'failed' : total === 0 ? 'completed' : 'running'
  return {
    id,
    status,
    sales_channel_id: run.salesChannelId,
    batch_size: run.batchSize,
    force: run.force ? 1 : 0,
    concurrency: run.concurrency ?? null,
    total_urls: total,
    checked_urls: 0,
    processed_urls: 0,
    skipped_urls: 0,
    failed_urls: 0,
    urls_per_second: 0,
    message: run.failure ?? run.message ?? null,
    discovery: JSON.stringify(run.discovery),
    created_at: now,
    updated_at: now,
    finished_at: status === 'running' ? null : now,
    paused_at: null,
    paused_for: 0,
  }
}

/** Generated lazily: a million URLs have tens of thousands of messages. */
function* messagesOf(runId: string, origins: readonly string[]): Generator<NewMessage> {
  for (const [number, origin] of origins.entries()) yield batchMessage(runId, number, origin)
}

/** Writes the batches of a run. @returns the origin of each batch, by batch number */
async function writeBatches(records: Records, runId: string, { lists, batchSize }: NewRun): Promise<string[]> {
  const origins: string[] = []
  let rows: WarmupBatchRow[] = []
  let urlsWaiting = 0
  const write = async () => {
    const slice = rows
    rows = []
    urlsWaiting = 0
    await records.db.transaction().execute(async (transaction) => {
      for (let from = 0; from < slice.length; from += rowsAtOnce) {
        await transaction
          .insertInto('warmup_batches')
          .values(slice.slice(from, from + rowsAtOnce))
          .execute()
      }
    })
    await nextTurn()
  }
  for (const { channelId, origin, urls } of inTurn(lists, batchSize)) {
    rows.push(newBatch(runId, origins.length, channelId, urls))
    origins.push(origin)
    urlsWaiting += urls.length
    if (urlsWaiting >= urlsAtOnce || rows.length >= batchesAtOnce) await write()
  }
  await write()
  return origins
}

function newBatch(runId: string, number: number, channelId: string, urls: readonly string[]): WarmupBatchRow {
  return {
    run_id: runId,
    number,
    sales_channel_id: channelId,
    urls: JSON.stringify(urls),
    size: urls.length,
    taken: '',
    done: '',
    openings: 0,
    finished_at: null,
  }
}

/** Alternates between the channels batch by batch, so that no channel waits for all of another. */
function* inTurn(
  lists: NewRun['lists'],
  size: number,
): Generator<{ channelId: string; origin: string; urls: string[] }> {
  let open = lists.map(({ urls, ...list }) => ({ ...list, urls: urls[Symbol.iterator]() }))
  while (open.length > 0) {
    for (const { urls, ...list } of open) {
      const batch: string[] = []
      for (let next = urls.next(); !next.done; next = urls.next()) {
        batch.push(next.value)
        if (batch.length === size) break
      }
      if (batch.length > 0) yield { ...list, urls: batch }
      else open = open.filter((other) => other.urls !== urls)
    }
  }
}

/** The progress of a run, or of the latest one without an id; null if there is none. */
export async function readProgress(records: Records, id?: string): Promise<WarmupProgress | null> {
  return progressOf(records.db, id)
}

export async function progressOf(db: RecordsDatabase, id?: string): Promise<WarmupProgress | null> {
  const [run] = (id === undefined ? await findLatest(db, {}) : await findRun(db, { id })).rows
  return run ? toProgress(run) : null
}

const findRun = prepare<{ id: string }, WarmupRunRow>((db, { id }) =>
  db.selectFrom('warmup_runs').selectAll().where('id', '=', id),
)

const findLatest = prepare<object, WarmupRunRow>((db) =>
  db.selectFrom('warmup_runs').selectAll().orderBy('id', 'desc').limit(1),
)

/** Runs, the latest first. */
export async function listRuns(
  records: Records,
  page: { limit: number; offset: number },
  status?: WarmupProgress['status'],
): Promise<{ total: number; items: WarmupProgress[] }> {
  let runs = records.db.selectFrom('warmup_runs')
  if (status !== undefined) runs = runs.where('status', '=', status)
  const rows = await runs.selectAll().orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute()
  const { total } = await runs
    .select((expression) => expression.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { total: Number(total), items: rows.map(toProgress) }
}

/** A run with everything that a worker needs. */
export interface RunToWork {
  id: string
  progress: WarmupProgress
  force: boolean
  discovery: RunDiscovery
}

/** Reads a run; null if there is none with this id. */
export async function readRun(records: Records, id: string): Promise<RunToWork | null> {
  const run = await records.db.selectFrom('warmup_runs').selectAll().where('id', '=', id).executeTakeFirst()
  return run
    ? { id, progress: toProgress(run), force: run.force === 1, discovery: parseDiscovery(run.discovery) }
    : null
}

/** Fills in the counts that runs of version 0.1.0 did not store separately. */
function parseDiscovery(stored: string): RunDiscovery {
  return { malformed: 0, excluded: 0, unknownType: 0, otherTags: 0, ...JSON.parse(stored) } as RunDiscovery
}
