import type { Kysely } from 'kysely'
import { realTiming } from '../../src/lib/timing.ts'
import { consume } from '../../src/queue/consume.ts'
import type { Work } from '../../src/queue/queue.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../helpers/records.ts'

/** A consumer that counts each message in a table of the test, behind the fence; the test kills it at any time. */
const records = await openRecords({ directory: process.argv[2]!, now: Date.now })

async function count(work: Work): Promise<void> {
  // Long enough to be killed during it.
  await realTiming.sleep(Math.random() * 5, work.lost)
  await records.db.transaction().execute(async (transaction) => {
    await work.hold(transaction, work.message)
    await (transaction as unknown as CountedDatabase)
      .insertInto('counted')
      .values({ payload: Number(work.message.payload) })
      .execute()
    await work.complete(work.message, transaction)
  })
}

process.send!('ready')
await consume({
  queue: openQueue(records, Date.now),
  kind: 'consumer',
  transports: ['async'],
  handlers: [{ type: 'count', concurrency: 4, handle: count }],
  stop: new AbortController().signal,
  timing: realTiming,
  random: Math.random,
  memory: () => 0,
  onEvent: () => {},
})

/** A table that a test adds to the records for counting. */
export type CountedDatabase = Kysely<{ counted: { payload: number } }>
