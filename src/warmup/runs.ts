import { setImmediate as nextTurn } from 'node:timers/promises'
import { uuidv7 } from '../lib/uuid.ts'
import type { Records } from '../records/open.ts'
import type { RecordsDatabase, RecordsTransaction, WarmupBatchRow, WarmupRunRow } from '../records/schema.ts'
import type { RunDiscovery } from './plan.ts'
import { toProgress, type WarmupProgress } from './progress.ts'

export interface NewRun {
  salesChannelId: string | null
  batchSize: number
  force: boolean
  /** Discovery broke: the run is failed from the start, and this says why. */
  failure: string | null
  discovery: RunDiscovery
  /** The URLs of each channel, in the order in which they are warmed. */
  lists: readonly { channelId: string; urls: Iterable<string> }[]
}

/** Rows of one INSERT; between two of them other work has its turn. */
const rowsAtOnce = 20

/**
 * Writes a run and its batches in one transaction: it is there as a whole or not at all. A run without URLs
 * is completed with it.
 */
export async function createRun(records: Records, run: NewRun): Promise<WarmupProgress> {
  const now = records.now()
  const total = run.discovery.total
  const status = run.failure !== null ? 'failed' : total === 0 ? 'completed' : 'running'
  const row: WarmupRunRow = {
    id: uuidv7(now),
    status,
    sales_channel_id: run.salesChannelId,
    batch_size: run.batchSize,
    force: run.force ? 1 : 0,
    total_urls: total,
    processed_urls: 0,
    skipped_urls: 0,
    failed_urls: 0,
    urls_per_second: 0,
    message: run.failure,
    discovery: JSON.stringify(run.discovery),
    created_at: now,
    updated_at: now,
    finished_at: status === 'running' ? null : now,
    paused_at: null,
    paused_for: 0,
  }
  await records.db.transaction().execute(async (transaction) => {
    await transaction.insertInto('warmup_runs').values(row).execute()
    await insertBatches(transaction, row, run.lists)
  })
  return toProgress(row, 0)
}

async function insertBatches(transaction: RecordsTransaction, run: WarmupRunRow, lists: NewRun['lists']): Promise<void> {
  let rows: WarmupBatchRow[] = []
  let number = 0
  const write = async () => {
    if (rows.length > 0) await transaction.insertInto('warmup_batches').values(rows).execute()
    rows = []
    await nextTurn()
  }
  for (const { channelId, urls } of inTurn(lists, run.batch_size)) {
    rows.push({
      run_id: run.id,
      number: number++,
      sales_channel_id: channelId,
      urls: JSON.stringify(urls),
      size: urls.length,
      done: '',
      in_hand: 0,
      lease: null,
      leased_until: null,
      finished_at: null,
    })
    if (rows.length === rowsAtOnce) await write()
  }
  await write()
}

/** A batch of one channel, then one of the next: no channel waits for all of another. */
function* inTurn(lists: NewRun['lists'], size: number): Generator<{ channelId: string; urls: string[] }> {
  let open = lists.map(({ channelId, urls }) => ({ channelId, urls: urls[Symbol.iterator]() }))
  while (open.length > 0) {
    for (const { channelId, urls } of open) {
      const batch: string[] = []
      for (let next = urls.next(); !next.done; next = urls.next()) {
        batch.push(next.value)
        if (batch.length === size) break
      }
      if (batch.length > 0) yield { channelId, urls: batch }
      else open = open.filter((list) => list.urls !== urls)
    }
  }
}

/** The record of a run, or of the latest one without an id; null where there is none. */
export async function readProgress(records: Records, id?: string): Promise<WarmupProgress | null> {
  return progressOf(records.db, id)
}

export async function progressOf(db: RecordsDatabase, id?: string): Promise<WarmupProgress | null> {
  const runs = db.selectFrom('warmup_runs').selectAll()
  const run = await (id === undefined ? runs.orderBy('id', 'desc').limit(1) : runs.where('id', '=', id)).executeTakeFirst()
  if (!run) return null
  const { inHand } = await db
    .selectFrom('warmup_batches')
    .select((expression) => expression.fn.sum<number | null>('in_hand').as('inHand'))
    .where('run_id', '=', run.id)
    .where('finished_at', 'is', null)
    .where('lease', 'is not', null)
    .executeTakeFirstOrThrow()
  return toProgress(run, Number(inHand ?? 0))
}

/** A run with what it has to be worked with. Throws where there is none with the id. */
export async function readRun(records: Records, id: string): Promise<{ progress: WarmupProgress; force: boolean; discovery: RunDiscovery }> {
  const progress = await progressOf(records.db, id)
  const run = await records.db.selectFrom('warmup_runs').select(['force', 'discovery']).where('id', '=', id).executeTakeFirstOrThrow()
  return { progress: progress!, force: run.force === 1, discovery: JSON.parse(run.discovery) as RunDiscovery }
}

export interface ClaimedBatch {
  number: number
  urls: string[]
  done: WarmupBatchRow['done']
}

/**
 * Takes the next batch of some channels that nobody works on, or whose worker is gone, until `leasedUntil`;
 * null where there is none, or the run is not running.
 */
export async function claimBatch(
  records: Records,
  claim: { runId: string; channelIds: readonly string[]; lease: string; leaseFor: number },
): Promise<ClaimedBatch | null> {
  const now = records.now()
  return records.db.transaction().execute(async (transaction) => {
    const batch = await transaction
      .selectFrom('warmup_batches as batch')
      .innerJoin('warmup_runs as run', 'run.id', 'batch.run_id')
      .select(['batch.number', 'batch.urls', 'batch.done'])
      .where('batch.run_id', '=', claim.runId)
      .where('run.status', '=', 'running')
      .where('batch.sales_channel_id', 'in', [...claim.channelIds])
      .where('batch.finished_at', 'is', null)
      .where((where) => where.or([where('batch.leased_until', 'is', null), where('batch.leased_until', '<', now)]))
      .orderBy('batch.number')
      .limit(1)
      .executeTakeFirst()
    if (!batch) return null
    await transaction
      .updateTable('warmup_batches')
      .set({ lease: claim.lease, leased_until: now + claim.leaseFor, in_hand: 0 })
      .where('run_id', '=', claim.runId)
      .where('number', '=', batch.number)
      .execute()
    return { number: batch.number, urls: JSON.parse(batch.urls) as string[], done: batch.done }
  })
}
