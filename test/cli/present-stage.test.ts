import { expect, it } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { presentStageStatistics } from '../../src/cli/present-stage.ts'
import type { StageStatisticsValue } from '../../src/operations/stages.ts'

const none = { impression: 0, cta_click: 0, close: 0, permanent_dismiss: 0 }

/** Shows a day with these impressions in its hours, in the middle of its third hour. */
async function show(hours: readonly number[], isTTY: boolean): Promise<string> {
  let text = ''
  const value = {
    success: true,
    popupId: '0190c0de-0000-7000-8000-00000000000a',
    dateFrom: '2026-11-21',
    dateTo: '2026-11-21',
    totals: none,
    rates: { ctr: 0, closeRate: 0, dismissRate: 0 },
    bucket: 'hour',
    series: hours.map((impression, hour) => ({
      date: new Date(Date.UTC(2026, 10, 21, hour)).toISOString(),
      ...none,
      impression,
    })),
  } satisfies StageStatisticsValue
  const stream = { isTTY, columns: 80, write: (chunk: string) => (text += chunk) }
  await presentStageStatistics(value, new Output(stream), Date.UTC(2026, 10, 21, 2, 30))
  return text
}

it('shows no hours that have not begun', async () => {
  const rows = await show([0, 3, 0, 0, 0], false)
  expect(rows.match(/^2026-11-21T.*$/gm)).toEqual([
    '2026-11-21T00:00:00.000Z\t0\t0\t0\t0',
    '2026-11-21T01:00:00.000Z\t3\t0\t0\t0',
    '2026-11-21T02:00:00.000Z\t0\t0\t0\t0',
  ])
  expect(await show([1, 3, 0, 0, 0], true)).toContain('2026-11-21 00:00 … 2026-11-21 02:00')
})

it('shows the hour of a daemon whose clock is ahead', async () => {
  expect(await show([0, 3, 0, 5, 0], false)).toContain('2026-11-21T03:00:00.000Z\t5')
})
