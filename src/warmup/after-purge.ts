import type { Handler, NewMessage, Work } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { Plan } from './discover/plan.ts'
import { purgedUrls, type PurgedPages } from './discover/purged-urls.ts'
import { createRun } from './run/runs.ts'
import { UrlList } from './discover/url-list.ts'

export const afterPurgeType = 'warmup.afterPurge'

/**
 * The message that warms purged pages again after `delay` milliseconds, with everything purged in the meantime. The queue holds at
 * most one of them, so that a burst of purges starts a single run. It is dispatched in the transaction that records the purges.
 */
export function afterPurgeMessage(delay: number): NewMessage {
  return { transport: 'async', type: afterPurgeType, payload: {}, key: afterPurgeType, group: afterPurgeType, delay }
}

/** Delay before softly purged pages are warmed again if `warmup.afterPurge` is off: purges that come together share a run (milliseconds). */
const softenedDelay = 1_000

/**
 * What purges dispatch to have pages warmed again: `followUp` with each purge, the message of `budget` with those that it makes soft.
 *
 * @param delay `warmup.afterPurge` in milliseconds; null: off
 * @param softAbove `purge.softAbove`, a share; null: off
 */
export function warmingAfterPurges(delay: number | null, softAbove: number | null) {
  return {
    followUp: delay === null ? null : afterPurgeMessage(delay),
    budget: softAbove === null ? null : { softAbove, followUp: afterPurgeMessage(delay ?? softenedDelay) },
  }
}

export interface AfterPurgeOptions {
  records: Records
  /** Milliseconds; null: only the pages of purges that the purge budget made soft are warmed. */
  delay: number | null
  /** The purge log's clock, in milliseconds since the epoch. */
  now: () => number
  batchSize: number
  /** Pages purged after `since` (milliseconds since the epoch). */
  purgedSince(since: number, which: 'all' | 'softened'): PurgedPages
  /** Whether URLs of purges after `since` are still to be recorded. */
  isRecording(since: number): Promise<boolean>
  plan(urls: Iterable<string>, signal: AbortSignal): Promise<Plan>
}

/**
 * The purge log lists the pages of a purge shortly after the purge itself, so each run reads the log from this much earlier
 * (milliseconds). Pages that are fresh again cost one look-up.
 */
const overlap = 60_000

/**
 * Starts a run over everything purged since the previous one. The message is released and waits while that run is still running, and while
 * the URLs of a purge of many pages are being recorded.
 */
export function afterPurgeHandler(options: AfterPurgeOptions): Handler {
  return { type: afterPurgeType, handle: (work) => rewarm(options, work) }
}

async function rewarm(options: AfterPurgeOptions, work: Work): Promise<void> {
  const { records, delay, batchSize, now } = options
  const since = now() - overlap
  const mark = await readMark(records)
  if ((mark && (await isUnderWay(records, mark.run_id))) || (await options.isRecording(since)))
    return work.release(work.message, { delay: Math.max(delay ?? 0, softenedDelay) })
  const until = now()
  const urls = new UrlList()
  const purged = options.purgedSince(
    (mark?.until ?? work.message.createdAt) - overlap,
    delay === null ? 'softened' : 'all',
  )
  for await (const url of purgedUrls(records, purged)) urls.add(url, 1, 0)
  const plan = await options.plan(urls, work.stop)
  if (plan.discovery.total === 0) return
  await createRun(
    records,
    { salesChannelId: null, batchSize, force: false, ...plan, failure: null, message: 'Warming purged pages again' },
    async (transaction, runId) => {
      await work.hold(transaction, work.message)
      await writeMark(transaction, runId, until)
      await work.complete(work.message, transaction)
    },
  )
}

async function readMark(records: Records) {
  return records.db.selectFrom('warmup_purged').select(['run_id', 'until']).executeTakeFirst()
}

async function writeMark(transaction: RecordsTransaction, runId: string, until: number): Promise<void> {
  await transaction.deleteFrom('warmup_purged').execute()
  await transaction.insertInto('warmup_purged').values({ run_id: runId, until }).execute()
}

async function isUnderWay(records: Records, runId: string): Promise<boolean> {
  const run = await records.db.selectFrom('warmup_runs').select('status').where('id', '=', runId).executeTakeFirst()
  return run?.status === 'running'
}
