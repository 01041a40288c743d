/**
 * Program: measures durable events per second into an empty database, in groups.
 * Arguments: the writer, the group size, seconds, the URL of an empty PostgreSQL database (default: SQLite). Writers are `ours` (the tracker, with one producer per row of a group) and `insert` (the
 * shortest loop that the database's client allows: one prepared multi-row INSERT and its sync).
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { openRecords } from '../../src/records/open.ts'
import { defaultLook, defaultTrigger } from '../../src/stages/look.ts'
import { openTracker } from '../../src/stages/tracker.ts'
import { createStage } from '../../src/stages/stages.ts'
import { uuidv7 } from '../../src/lib/uuid.ts'
import { toPlace } from '../../test/helpers/records.ts'
import { scratch } from '../../test/helpers/scratch.ts'

const [who, size = '128', seconds = '5', url = null] = process.argv.slice(2)
const postgres = toPlace(url)
const group = Number(size)
const columns = 'id, popup_id, event_type, sales_channel_id, customer_id, page_type, request_url, created_at'
const { path: directory, discard } = await scratch('event-rows')
const channels = [{ id: 'channel', name: 'Bench', url: 'http://shop.example' }]
const records = await openRecords({ directory, postgres, now: Date.now })
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
const rows = who === 'ours' ? await track() : url === null ? insert() : await insertIntoPostgres(url)
await discard()
console.log(JSON.stringify({ rowsPerSecond: rows }))

async function track(): Promise<number> {
  const tracker = openTracker({ directory, postgres, channels })
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

function valuesOfGroup(): unknown[] {
  return Array.from({ length: group }, () => {
    const now = Date.now()
    return [uuidv7(now), stage.id, 'impression', 'channel', null, 'product', '/shoes/boots/42', now]
  }).flat()
}

function insert(): number {
  const database = new Database(join(directory, 'records.sqlite'))
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  const statement = database.prepare(
    `insert into vendor_stage_event (${columns}) values ${Array(group).fill('(?,?,?,?,?,?,?,?)').join()}`,
  )
  const start = performance.now()
  const end = start + Number(seconds) * 1000
  let written = 0
  for (; performance.now() < end; written += group) statement.run(valuesOfGroup())
  const took = performance.now() - start
  database.close()
  return (written / took) * 1000
}

async function insertIntoPostgres(place: string): Promise<number> {
  const client = new pg.Client({ connectionString: place })
  await client.connect()
  const row = (_: unknown, index: number) =>
    `(${Array.from({ length: 8 }, (__, column) => `$${index * 8 + column + 1}`).join()})`
  const text = `insert into vendor_stage_event (${columns}) values ${Array.from({ length: group }, row).join()}`
  const start = performance.now()
  const end = start + Number(seconds) * 1000
  let written = 0
  for (; performance.now() < end; written += group)
    await client.query({ name: 'insert', text, values: valuesOfGroup() })
  const took = performance.now() - start
  await client.end()
  return (written / took) * 1000
}
