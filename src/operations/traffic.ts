import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { dayLength } from '../lib/moment.ts'
import { parseDuration } from '../lib/quantity.ts'
import { trafficTypes } from '../traffic/traffic.ts'
import { count, described, optionalId, success, succeeded } from './fields.ts'
import { assertKnownChannel } from './known-channel.ts'
import { defineOperation } from './operation.ts'

const milliseconds = described(z.number(), 'milliseconds')

/** What visitors got in some time. */
const summary = {
  requests: count,
  hits: count,
  stale: described(count, 'expired pages, during renewal or instead of an error'),
  misses: count,
  passes: described(count, 'bypassed the cache'),
  errors: described(count, 'neither the cache nor the shop had an answer'),
  hitRatio: described(z.nullable(z.number()), '(hits + stale) / (hits + stale + misses), 0 to 1; null without any'),
  bytes: described(count, 'size of the bodies that were sent'),
  originTime: described(z.number(), 'milliseconds that the shop took, in total'),
  servedTime: described(z.number(), 'milliseconds until the answers began, in total'),
  p95: described(z.nullable(milliseconds), '95th percentile of the time until an answer began, in milliseconds'),
  originP95: described(
    z.nullable(milliseconds),
    '95th percentile for misses and bypassed requests alone, in milliseconds',
  ),
  statuses: z.object({ '1xx': count, '2xx': count, '3xx': count, '4xx': count, '5xx': count }),
}

const time = z.optional(z.string({ error: 'expected an ISO 8601 time such as 2026-11-21T12:00:00Z' }))
const expectedDuration = 'expected a duration such as 30m, 24h or 7d'
const bucket = z.enum(['minute', 'hour', 'day'], { error: 'expected minute, hour or day' })

export const readTraffic = defineOperation({
  name: 'traffic.read',
  summary: 'Shows what visitors got: hits, misses, bytes and times, in total, over time, by type and by sales channel',
  input: z.object({
    from: described(time, 'default: 24 hours before `to`'),
    to: described(time, 'default: now'),
    last: described(
      z.optional(z.string({ error: expectedDuration })),
      'a duration such as 30m, 24h or 7d, instead of `from` and `to`; default: 24h',
    ),
    bucket: described(z.optional(bucket), 'default: by the length of the range'),
    type: z.optional(z.enum(trafficTypes, { error: `expected one of ${trafficTypes.join(', ')}` })),
    salesChannelId: optionalId('expected the id of a sales channel'),
  }),
  output: z.object({
    success,
    from: z.iso.datetime(),
    to: described(z.iso.datetime(), 'exclusive; both are widened to whole buckets (UTC)'),
    bucket,
    totals: z.object(summary),
    series: described(z.array(z.object({ at: z.iso.datetime(), ...summary })), 'every bucket, oldest first'),
    byType: z.array(
      z.object({ type: described(z.string(), 'page type, or other for answers that are no page'), ...summary }),
    ),
    byChannel: z.array(z.object({ salesChannelId: z.string(), ...summary })),
    byResult: z.array(z.object({ result: z.string(), ...summary })),
    topMisses: described(
      z.array(
        z.object({
          path: described(z.string(), 'with the host, without the query'),
          salesChannelId: z.string(),
          reason: z.string(),
          remedy: described(z.nullable(z.string()), 'what to do about the reason; null if nothing needs doing'),
          requests: count,
          originTime: milliseconds,
        }),
      ),
      'most frequent misses, approximate; of all types',
    ),
  }),
  http: { method: 'GET', path: '/traffic' },
  async run({ app }, { bucket, type, salesChannelId = '', ...range }) {
    const [{ readTraffic: read }, { storageRemedy }] = await Promise.all([
      import('../traffic/read-traffic.ts'),
      import('../cache/storage-remedy.ts'),
    ])
    const now = app.now()
    const question = {
      ...toRange(range, now),
      bucket: bucket ?? null,
      type,
      salesChannelId: salesChannelId || undefined,
    }
    const { topMisses, ...traffic } = await read((await app.records()).db, question, now)
    // A channel that was removed from the configuration has counts of the time before.
    if (traffic.totals.requests === 0) assertKnownChannel(app, salesChannelId)
    const withRemedies = topMisses.map((miss) => ({ ...miss, remedy: storageRemedy(miss.reason) }))
    return { ...succeeded, ...traffic, topMisses: withRemedies }
  },
})

export type Traffic = z.output<typeof readTraffic.output>
export type TrafficTotals = Traffic['totals']

/** Milliseconds since the epoch. An empty text in a query string is no value. @throws INVALID_INPUT */
function toRange(
  given: { from?: string | undefined; to?: string | undefined; last?: string | undefined },
  now: number,
) {
  const { from = '', to = '', last = '' } = given
  if (last !== '' && from + to !== '')
    throw new PagecacheError('INVALID_INPUT', 'last: cannot be combined with from and to')
  const length = last === '' ? dayLength : (parseDuration(last) ?? 0)
  if (length === 0 || length > now) throw new PagecacheError('INVALID_INPUT', `last: ${expectedDuration}`)
  // Nothing is counted in the future, and a range must end.
  const end = to === '' ? now : Math.min(now, toTime('to', to))
  return { from: from === '' ? end - length : toTime('from', from), to: end }
}

/** @throws INVALID_INPUT */
function toTime(name: string, text: string): number {
  const time = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(time))
    throw new PagecacheError('INVALID_INPUT', `${name}: expected an ISO 8601 time such as 2026-11-21T12:00:00Z`)
  return time
}
