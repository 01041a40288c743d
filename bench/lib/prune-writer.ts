import { setTimeout as sleep } from 'node:timers/promises'
import { openRecords } from '../../src/records/open.ts'

/** Writes to the records every 20 ms and reports to the parent how long each write waited, in milliseconds. */
const records = await openRecords({ directory: process.argv[2]!, now: Date.now })
for (let written = 0; ; written++) {
  const started = performance.now()
  await records.db
    .insertInto('queue_messages')
    .values({
      id: String(written),
      transport: 'failed',
      type: 'bench',
      payload: '',
      group: null,
      key: null,
      available_at: 0,
      delay: 0,
      attempts: 0,
      crashes: 0,
      lease: null,
      worker: null,
      taken_at: null,
      created_at: 0,
      last_error: null,
      failed_at: 0,
      origin: 'async',
    })
    .execute()
  process.send!(performance.now() - started)
  await sleep(20)
}
