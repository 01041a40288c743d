import type { Handler, NewMessage, Work } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { Plan } from './discover/plan.ts'
import { purgedUrls, type PurgedPages } from './discover/purged-urls.ts'
import { createRun } from './run/runs.ts'
import { UrlList } from './discover/url-list.ts'

export const afterPurgeType = 'warmup.afterPurge'

/**
 * What a purge took is warmed again so many milliseconds later, together with all that was purged meanwhile. One message at a
 * time waits, so that a storm of purges makes one run each time. It is dispatched in the transaction that records the purges.
 */
export function afterPurgeMessage(delay: number): NewMessage {
  return { transport: 'async', type: afterPurgeType, payload: {}, key: afterPurgeType, group: afterPurgeType, delay }
}

export interface AfterPurgeOptions {
  records: Records
  /** Milliseconds; null where it is switched off. */
  delay: number | null
  /** The purge log's clock, in milliseconds since the epoch. */
  now: () => number
  batchSize: number
  /** Pages purged after `since` (milliseconds since the epoch). */
  purgedSince(since: number): PurgedPages
  plan(urls: Iterable<string>, signal: AbortSignal): Promise<Plan>
}

/** The log names the pages of a purge a little later than the purge: so far back it is read again. What is fresh by now is only looked up (milliseconds). */
const overlap = 60_000

/** Starts a run of what was purged since the last one. While that one still runs nothing new is begun. */
export function afterPurgeHandler(options: AfterPurgeOptions): Handler {
  return { type: afterPurgeType, handle: (work) => rewarm(options, work) }
}

async function rewarm(options: AfterPurgeOptions, work: Work): Promise<void> {
  const { records, delay, batchSize, now } = options
  if (delay === null) return
  const mark = await readMark(records)
  if (mark && (await isUnderWay(records, mark.run_id)))
    return work.release(work.message, { delay: Math.max(delay, 1000) })
  const until = now()
  const urls = new UrlList()
  const purged = options.purgedSince((mark?.until ?? work.message.createdAt) - overlap)
  for await (const url of purgedUrls(records, purged)) urls.add(url, 1, 0)
  const plan = await options.plan(urls, work.stop)
  if (plan.discovery.total === 0) return
  await createRun(
    records,
    { salesChannelId: null, batchSize, force: false, ...plan, failure: null, message: 'What was purged, again' },
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
