/**
 * Program: measures durable events per second into an empty database, in groups.
 * Arguments: the writer, the group size, seconds. Writers are `ours` (the tracker, with one producer per row of a group) and `insert` (the
 * shortest loop that better-sqlite3 allows: one prepared multi-row INSERT and its sync).
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openRecords } from '../../src/records/open.ts'
import { defaultLook, defaultTrigger } from '../../src/stages/look.ts'
import { openTracker } from '../../src/stages/tracker.ts'
import { createStage } from '../../src/stages/stages.ts'
import { uuidv7 } from '../../src/lib/uuid.ts'
import { scratch } from '../../test/helpers/scratch.ts'

const [who, size = '128', seconds = '5'] = process.argv.slice(2)
const group = Number(size)
const { path: directory, discard } = await scratch('event-rows')
const channels = [{ id: 'channel', name: 'Bench', url: 'http://shop.example' }]
const records = await openRecords({ directory, now: Date.now })
const stage = await createStage(records, channels, {
  name: 'Bench',
  statsEnabled: true,
  retentionDays: 90,
  maxPerSession: null,
  frequency: 'always',
  salesChannelId: null,
  active: true,
  pageTypes: [],
  from: null,
  until: null,
  look: defaultLook,
  trigger: defaultTrigger,
  content: { headline: '', html: null, text: null, callToAction: null, dismissLabel: null, closeLabel: 'Close' },
})
await records.close()
const rows = who === 'ours' ? await track() : insert()
await discard()
console.log(JSON.stringify({ rowsPerSecond: rows }))

async function track(): Promise<number> {
  const tracker = openTracker({ directory, channels })
  const event = () => ({
    popupId: stage.id,
    type: 'impression' as const,
    salesChannelId: 'channel',
    customerId: null,
    pageType: 'product',
    requestUrl: '/shoes/boots/42',
    at: Date.now(),
    session: null,
    counted: true,
  })
  await tracker.track(event())
  const start = performance.now()
  const end = start + Number(seconds) * 1000
  let written = 0
  // Two groups: one collects while the other is written.
  await Promise.all(
    Array.from({ length: group * 2 }, async () => {
      while (performance.now() < end) {
        await tracker.track(event())
        written += 1
      }
    }),
  )
  const took = performance.now() - start
  await tracker.close()
  return (written / took) * 1000
}

function insert(): number {
  const database = new Database(join(directory, 'records.sqlite'))
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  const statement = database.prepare(
    `insert into vendor_stage_event (id, popup_id, event_type, sales_channel_id, customer_id, page_type, request_url, created_at) values ${Array(group).fill('(?,?,?,?,?,?,?,?)').join()}`,
  )
  const start = performance.now()
  const end = start + Number(seconds) * 1000
  let written = 0
  for (; performance.now() < end; written += group) {
    const values: unknown[] = []
    for (let row = 0; row < group; row += 1)
      values.push(uuidv7(Date.now()), stage.id, 'impression', 'channel', null, 'product', '/shoes/boots/42', Date.now())
    statement.run(values)
  }
  const took = performance.now() - start
  database.close()
  return (written / took) * 1000
}
