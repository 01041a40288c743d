import { formatCount } from '../../../lib/format.ts'
import { level, sparkline } from '../../text/chart.ts'
import { share, shortMs, shortRate } from '../../text/amount.ts'
import { join, lineWidth, span, type Line, type Span } from '../../text/line.ts'
import { label, labelWidth } from '../../block.ts'
import { padStart } from '../../text/width.ts'
import type { Live, Progress } from './watched.ts'

/** A figure with its name, padded so that nothing moves when it grows. */
function figure(name: string, value: string, width: number): Line {
  return [span(`${name} `, 'dim'), span(padStart(value, width))]
}

/** @param plain whether the sparkline is left out, because a chart is drawn below */
export function rateLine({ rate, perSecond }: Live, width: number, plain: boolean): Line {
  const figures: Line = [
    label('rate'),
    span(padStart(shortRate(rate.now), 6), 'strong'),
    span('/s   '),
    ...figure('average', shortRate(rate.average), 6),
    span('   '),
    ...figure('peak', shortRate(rate.peak), 6),
  ]
  const room = width - lineWidth(figures) - 3
  // The last second is incomplete and would appear as a drop at the end of every chart.
  const whole = perSecond.slice(0, -1)
  if (room < 10 || plain) return figures
  const wide = Math.min(whole.length, room >= 10 + sparkLegend ? room - sparkLegend : room)
  const legend = room - wide >= sparkLegend ? `  last ${wide} s` : ''
  return [...figures, span('   '), span(sparkline(whole, wide), 'accent'), span(legend, 'dim')]
}

/** Cells of `  last 59 s`. */
const sparkLegend = 11

/** @param plain whether the histogram is left out, because a chart is drawn below */
export function latencyLine({ latency, slowest }: Live, width: number, plain: boolean): Line {
  const { p50, p90, p99, buckets } = latency
  const max = slowest.length > 0 ? Math.max(...slowest.map(({ ms }) => ms)) : null
  const figures: Line = [
    label('latency'),
    // Percentiles are upper bounds of buckets; none may exceed the slowest request.
    ...(
      [
        ['p50', p50],
        ['p90', p90],
        ['p99', p99],
        ['max', max],
      ] as const
    ).flatMap(([name, ms]) => [
      ...figure(name, shortMs(ms === null || max === null ? ms : Math.min(ms, max)), 6),
      span('   '),
    ]),
  ]
  return plain ? figures : [...figures, ...histogram(buckets, width - lineWidth(figures))]
}

/** Bounds of the chart in milliseconds. Faster and slower requests count in the first and last column. */
const histogramBounds = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096] as const

type Buckets = Live['latency']['buckets']

/** Counts responses by ranges of durations. Each range is twice as wide as the one before. */
export function durationCounts(buckets: Buckets): number[] {
  const bounds = [...histogramBounds, Infinity]
  return bounds.map((bound, index) => {
    const above = index === 0 ? 0 : bounds[index - 1]!
    return buckets.filter(({ upTo }) => upTo > above && upTo <= bound).reduce((sum, { count }) => sum + count, 0)
  })
}

/** `≤16 ms ▁▃█▅▂▁ >4 s` */
function histogram(buckets: Buckets, width: number): Line {
  const counts = durationCounts(buckets)
  const most = Math.max(...counts)
  const columns = counts.map((count) => level(count, most)).join('')
  if (most === 0 || width < columns.length + 14) return []
  return [span('≤16 ms ', 'dim'), span(columns, 'accent'), span(' >4 s', 'dim')]
}

/** Counts of URLs by result: fetched, already fresh, not stored, failed. */
export function resultLine({ results }: Live, progress: Progress, width: number): Line {
  const notStored = sum(results.notStored)
  const fetched = progress.processed_urls - progress.skipped_urls
  return [
    label('results'),
    ...join(
      [
        [span('fetched ', 'dim'), span(formatCount(fetched), 'good')],
        [span('failed ', 'dim'), span(formatCount(progress.failed_urls), progress.failed_urls > 0 ? 'bad' : 'plain')],
        [span('not stored ', 'dim'), span(formatCount(notStored), notStored > 0 ? 'warn' : 'plain')],
        [span('already fresh ', 'dim'), span(formatCount(progress.skipped_urls))],
        [span('remaining ', 'dim'), span(formatCount(progress.remaining_urls))],
      ],
      width - labelWidth,
    ),
  ]
}

/** Why pages were not cached (not stored, or failed), the most frequent reason first. */
export function reasonLine({ results }: Live, { status, failed_urls: failed }: Progress, width: number): Line {
  const classes = [
    ...ranked(results.notStored).map(([reason, count]): Line => [
      span(`${reason} `, 'dim'),
      span(formatCount(count), 'warn'),
    ]),
    ...ranked(results.failed).map(([reason, count]): Line => [
      span(`${reason} `, 'dim'),
      span(formatCount(count), 'bad'),
    ]),
  ]
  const none = status === 'completed' && failed === 0 ? 'all pages cached' : 'none so far'
  return [label('reasons'), ...(classes.length === 0 ? [span(none, 'dim')] : join(classes, width - labelWidth))]
}

function ranked(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts).toSorted(([, left], [, right]) => right - left)
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

/** One line per origin: concurrency, latency, errors, and why it is throttled. */
export function originLines({ origins, at }: Live, width: number): Line[] {
  if (origins.length === 0) return [[label('origin'), span('no requests', 'dim')]]
  return origins.slice(0, shownOrigins).map((origin, index) => {
    const { concurrency, limit, configured, latency, usualLatency, requests, errors, throttled } = origin
    return [
      label(index === 0 ? 'origin' : ''),
      ...join(
        [
          [
            span(padStart(`${concurrency}/${Math.floor(limit)}`, 5), limit < configured ? 'warn' : 'plain'),
            span(limit < configured ? ` of ${configured}` : ' at once', 'dim'),
          ],
          [healthSpan(throttled, requests === 0 ? 0 : errors / requests, at)],
          [span('errors ', 'dim'), span(share(errors, requests), errors > 0 ? 'bad' : 'plain')],
          [
            span('now ', 'dim'),
            span(shortMs(latency)),
            span(usualLatency === null ? '' : ` (usual ${shortMs(usualLatency)})`, 'dim'),
          ],
          [span(origin.origin)],
          ...(index === shownOrigins - 1 && origins.length > shownOrigins
            ? [[span(`and ${origins.length - shownOrigins} more`, 'dim')]]
            : []),
        ],
        width - labelWidth,
      ),
    ]
  })
}

const shownOrigins = 3

const throttles: Record<string, string> = {
  '429': '429 answers',
  '503': '503 answers',
  errors: 'errors and timeouts',
  latency: 'slow responses',
  'retry-after': 'Retry-After',
}

/** Error shares from which an origin counts as unsteady and as failing. */
const [unsteadyFrom, failingFrom] = [0.05, 0.5]

function healthSpan(throttled: Live['origins'][number]['throttled'], errors: number, now: number): Span {
  if (throttled === null && errors >= failingFrom) return span('failing', 'bad')
  if (throttled === null) return errors >= unsteadyFrom ? span('unsteady', 'warn') : span('healthy', 'good')
  const until = throttled.until !== null && throttled.until > now ? ` for ${shortMs(throttled.until - now)}` : ''
  return span(`throttled: ${throttles[throttled.reason] ?? throttled.reason}${until}`, 'warn')
}
