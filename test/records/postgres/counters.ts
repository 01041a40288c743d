import { onTestFinished } from 'vitest'
import { realTiming } from '../../../src/lib/timing.ts'
import { consume } from '../../../src/queue/consume.ts'
import type { Handler, Queue } from '../../../src/queue/queue.ts'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { openRecords, type Records } from '../../../src/records/open.ts'
import { execute } from '../../helpers/postgres.ts'
import type { CountedDatabase } from '../../queue/counting-child.ts'

/** Opens the records at an address, and their queue. They are closed at the end of the test. */
export async function openQueueAt(url: string, pool: number): Promise<{ records: Records; queue: Queue }> {
  const records = await openRecords({ directory: '', postgres: { url, listenUrl: null, pool }, now: Date.now })
  onTestFinished(() => records.close())
  return { records, queue: openQueue(records, Date.now) }
}

/**
 * Starts two consumers that insert the payload of each `count` message into the table `counted`, in the transaction that completes it.
 * They run until `stop`; `handlers` take messages of other types.
 */
export async function startCounters(
  open: () => ReturnType<typeof openQueueAt>,
  stop: AbortSignal,
  handlers: readonly Handler[] = [],
): Promise<Promise<unknown>[]> {
  return [await open(), await open()].map(({ records, queue }) =>
    consume({
      queue,
      kind: 'consumer',
      transports: ['async'],
      stop,
      timing: realTiming,
      random: Math.random,
      memory: () => 0,
      onEvent: () => {},
      handlers: [...handlers, toCounter(records)],
    }),
  )
}

function toCounter(records: Records): Handler {
  return {
    type: 'count',
    concurrency: 2,
    handle: (work) =>
      records.db.transaction().execute(async (transaction) => {
        await work.complete(work.message, transaction)
        const counted = transaction as unknown as CountedDatabase
        await counted
          .insertInto('counted')
          .values({ payload: work.message.payload as number })
          .execute()
      }),
  }
}

/** The payloads in the table `counted`, in order. */
export async function readCounted(url: string): Promise<number[]> {
  return (await execute(url, 'select payload from counted order by payload')).rows.map(({ payload }) => Number(payload))
}
