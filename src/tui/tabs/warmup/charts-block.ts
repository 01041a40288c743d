import { chartLines, chartsFrom } from '../../charts.ts'
import { shortRate } from '../../text/amount.ts'
import type { Line } from '../../text/line.ts'
import { durationCounts } from './figures-block.ts'
import type { Live } from './watched.ts'

/** The height of a terminal, in lines, from which charts leave enough room for the lists below. */
const tallFrom = 44

/** Whether rate and durations are drawn as charts instead of in the lines of figures. */
export function hasCharts(width: number, rows: number): boolean {
  return width >= chartsFrom && rows >= tallFrom
}

/** URLs per second of the last minute, and responses of the shop by duration. */
export function warmupCharts({ perSecond, latency }: Live, width: number, rows: number): Line[] {
  if (!hasCharts(width, rows)) return []
  // The last second is incomplete.
  const rates = perSecond.slice(0, -1)
  const counts = durationCounts(latency.buckets)
  const [fastest, most] = [Math.max(0, ...rates), Math.max(0, ...counts)]
  return chartLines(
    '1 min',
    [
      { name: `URLs per second, peak ${shortRate(fastest)}`, values: rates, most: fastest, tone: 'accent' },
      { name: 'all responses by duration, ≤16 ms to >4 s', values: counts, most, tone: 'warn' },
    ],
    width,
    rows,
  )
}
