import { sql } from 'kysely'
import { realTiming } from '../../src/lib/timing.ts'
import { consume } from '../../src/queue/consume.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../../src/records/open.ts'
import { toPlace } from '../../test/helpers/records.ts'

/** Sent to the parent for each message: the start of its handler, in nanoseconds of the machine's monotonic clock. */
export interface Handled {
  at: string
}

const [, , directory, url = null] = process.argv
const records = await openRecords({ directory: directory!, postgres: toPlace(url), now: Date.now })
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
const start = () => void process.send!({ at: String(process.hrtime.bigint()) } satisfies Handled)
process.send!('ready')
await consume({
  queue: openQueue(records, Date.now),
  kind: 'consumer',
  transports: ['async'],
  handlers: [
    { type: 'bench', concurrency: 2, handle: async () => start() },
    {
      type: 'effect',
      concurrency: 2,
      async handle(work) {
        start()
        await records.db.transaction().execute(async (transaction) => {
          await sql`insert into effects (payload) values (${work.message.payload})`.execute(transaction)
          await work.complete(work.message, transaction)
        })
      },
    },
  ],
  stop: stop.signal,
  timing: realTiming,
  random: Math.random,
  memory: () => 0,
  onEvent: () => {},
})
await records.close()
process.disconnect()
