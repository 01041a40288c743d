import { expect, it } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { presentTraffic, type Grouping } from '../../src/cli/present-traffic.ts'
import type { Traffic, TrafficTotals } from '../../src/operations/traffic.ts'

const channel = '0190c0de-0000-7000-8000-000000000001'

const totals = (requests: number) =>
  ({ requests, hitRatio: 0.5, bytes: 1024, p95: 9, originP95: 9, originTime: 9, statuses: {} }) as TrafficTotals

/** Shows two days, in which each hour has had as many requests as given. */
async function show(hours: readonly number[], by: Grouping = 'type', columns: number | null = 80): Promise<string> {
  let text = ''
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 21, hour)).toISOString()
  const value = {
    from: at(0),
    to: at(hours.length),
    bucket: 'hour',
    totals: totals(12),
    series: hours.map((requests, hour) => ({ at: at(hour), ...totals(requests) })),
    byType: [{ type: 'cms', ...totals(12) }],
    byChannel: [{ salesChannelId: channel, ...totals(12) }],
    byResult: ['hit', 'stale'].map((result, index) => ({ result, ...totals(index === 0 ? 12 : 0) })),
    topMisses: [],
  } as unknown as Traffic
  const stream = { isTTY: columns !== null, columns: columns ?? 0, write: (chunk: string) => (text += chunk) }
  await presentTraffic(value, by, new Output(stream), by === 'channel' ? new Map([[channel, 'Harbour']]) : undefined)
  return text
}

it('draws no chart of one bar, and says where to see more', async () => {
  expect(await show([3, 0, 9])).toContain('Requests by hour (UTC):')
  const text = await show([0, 12, 0])
  expect(text).not.toContain('█')
  expect(text).toContain('All of them from 2026-11-21 01:00 UTC on, within an hour.')
  expect(text).toContain('pagecache cache:traffic --since 1h')
})

it('shows no rows without requests, and offers no flag that the command lacks', async () => {
  expect(await show([3, 9], 'result')).not.toContain('stale')
  expect(await show([3, 9], 'type', 50)).toMatch(/Not shown: .*Use a wider\sterminal\./)
})

it.each([60, 80])('shows channels in a table of %i columns', async (columns) => {
  expect(await show([3, 9], 'channel', columns)).toContain('│ 0190c0de │ Harbour │')
})

it('formats the hit ratios of the series in a pipe', async () => {
  expect(await show([3, 9], 'type', null)).toContain('2026-11-21T01:00:00.000Z\t9\t50.0 %\n')
})
