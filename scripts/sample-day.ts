import { join } from 'node:path'
import { openRecords } from '../src/records/open.ts'
import { amountColumns, type TrafficAmounts } from '../src/records/traffic-rows.ts'

/** The share of each result and its usual time, in microseconds. */
const results = [
  { result: 'hit', type: 'products', share: 0.46, time: 60, bucket: 'b1' },
  { result: 'hit', type: 'listings', share: 0.2, time: 70, bucket: 'b1' },
  { result: 'hit', type: 'cms', share: 0.14, time: 50, bucket: 'b0' },
  { result: 'stale', type: 'categories', share: 0.04, time: 60, bucket: 'b1' },
  { result: 'miss', type: 'products', share: 0.05, time: 140_000, bucket: 'b7' },
  { result: 'miss', type: 'listings', share: 0.03, time: 220_000, bucket: 'b7' },
  { result: 'pass', type: 'other', share: 0.08, time: 90_000, bucket: 'b6' },
] as const

/** Adds a day of traffic to the records of a demo: the demo itself is a minute old, and charts of it would be empty. */
export async function addSampleDay(projectDir: string): Promise<void> {
  const records = await openRecords({ directory: join(projectDir, 'var/data/prod'), now: Date.now })
  const { db } = records
  try {
    const { channel_id: channel } = await db.selectFrom('traffic_hours').select('channel_id').executeTakeFirstOrThrow()
    const hour = Math.floor(Date.now() / 3_600_000)
    for (let before = 1; before <= 24; before++) {
      const rows = results.map((each) => {
        const requests = Math.round(visitorsAt((hour - before) % 24) * each.share)
        return {
          start: hour - before,
          channel_id: channel,
          type: each.type,
          result: each.result,
          ...toAmounts(requests, each),
        }
      })
      await db.insertInto('traffic_hours').values(rows).execute()
    }
  } finally {
    await records.close()
  }
}

/** Requests in an hour of the day: few at night, most in the evening. */
function visitorsAt(hour: number): number {
  const curve = [9, 6, 4, 3, 3, 5, 10, 18, 27, 33, 36, 38, 41, 39, 37, 38, 42, 47, 54, 62, 66, 58, 39, 20]
  return curve[hour]! * 120
}

function toAmounts(requests: number, { result, time, bucket }: (typeof results)[number]): TrafficAmounts {
  const nothing = Object.fromEntries(amountColumns.map((column) => [column, 0])) as TrafficAmounts
  const fromShop = result === 'miss' || result === 'pass'
  return {
    ...nothing,
    requests,
    status_2xx: requests,
    bytes: requests * 5200,
    origin_us: fromShop ? requests * time : 0,
    served_us: requests * time,
    [bucket]: requests,
  }
}
