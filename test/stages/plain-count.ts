import { expect, onTestFinished } from 'vitest'
import { parseDay } from '../../src/stages/buckets.ts'
import { readStatistics } from '../../src/stages/statistics.ts'
import { openTracker, type Tracker } from '../../src/stages/tracker.ts'
import type { TrackedEvent } from '../../src/stages/batch.ts'
import { eventTypes } from '../../src/stages/stage.ts'
import type { Records } from '../../src/records/open.ts'
import { openRecords, testDatabase } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'

export const day = 24 * 3_600_000

/** Noon of 20 November 2026. */
export const noon = Date.UTC(2026, 10, 20, 12)

export const channels = [{ id: 'channel-1', name: 'Storefront', url: 'http://shop.example' }]

export async function openStages(now: () => number = () => noon): Promise<{
  directory: string
  records: Records
  tracker: Tracker
  event: (popupId: string, at: number, more?: Partial<TrackedEvent>) => TrackedEvent
}> {
  const directory = await tempDir()
  const records = await openRecords({ directory, now })
  const tracker = openTracker({ directory, postgres: testDatabase(), channels })
  onTestFinished(async () => {
    await tracker.close()
    await records.close()
  })
  const event = (popupId: string, at: number, more: Partial<TrackedEvent> = {}): TrackedEvent => ({
    popupId,
    type: 'impression',
    salesChannelId: 'channel-1',
    customerId: null,
    pageType: null,
    requestUrl: null,
    at,
    session: null,
    counted: true,
    ...more,
  })
  return { directory, records, tracker, event }
}

/** The expected statistics, counted from the events. */
async function plainCount({ db }: Records, popupId: string, from: number, to: number) {
  const rows = await db
    .selectFrom('vendor_stage_event')
    .where('popup_id', '=', popupId)
    .where('created_at', '>=', from * day)
    .where('created_at', '<', (to + 1) * day)
    .select(['event_type', ({ fn }) => fn.countAll<number>().as('events')])
    .groupBy('event_type')
    .execute()
  return Object.fromEntries(eventTypes.map((type) => [type, rows.find((row) => row.event_type === type)?.events ?? 0]))
}

/** Statistics and count, read in one transaction for consistency. */
export async function assertAgreement(
  records: Records,
  popupId: string,
  dateFrom: string,
  dateTo: string,
): Promise<number> {
  return await records.db.transaction().execute(async (transaction) => {
    const within = { ...records, db: transaction }
    const value = await readStatistics(within, { popupId, dateFrom, dateTo })
    const counted = await plainCount(within, popupId, parseDay(dateFrom)!, parseDay(dateTo)!)
    expect(value.totals).toEqual(counted)
    for (const type of eventTypes) expect(value.series.reduce((sum, point) => sum + point[type], 0)).toBe(counted[type])
    return Object.values(value.totals).reduce((sum, number) => sum + number, 0)
  })
}
