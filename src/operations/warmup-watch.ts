import * as z from 'zod/mini'
import { count, described, optionalId, success, succeeded } from './fields.ts'
import type { RunDiscovery } from '../warmup/discover/plan.ts'
import { defineOperation } from './operation.ts'
import { progressRecord } from './warmup.ts'

const milliseconds = z.number()
/** Milliseconds since the epoch. */
const moment = z.number()
const rate = z.number()
const counts = z.record(z.string(), count)

const origin = z.object({
  origin: z.string(),
  concurrency: described(count, 'requests in progress'),
  limit: described(z.number(), 'current limit of requests in progress'),
  configured: count,
  delay: described(milliseconds, 'between the starts of two requests'),
  throttled: z.nullable(
    z.object({ reason: z.enum(['429', '503', 'errors', 'latency', 'retry-after']), until: z.nullable(moment) }),
  ),
  latency: z.nullable(milliseconds),
  usualLatency: z.nullable(milliseconds),
  requests: described(count, 'in the last minute'),
  errors: described(count, 'requests without a usable response'),
})

const worker = z.object({
  id: z.string(),
  host: z.string(),
  pid: count,
  alive: z.boolean(),
  at: moment,
  startedAt: moment,
  done: count,
  memory: z.object({ rss: count, heapUsed: count }),
  eventLoopDelay: z.object({ mean: milliseconds, max: milliseconds }),
})

/** Live figures of a run, combined from all its workers (src/warmup/run/live.ts). Times are in ms since the epoch. */
const liveRecord = z.object({
  at: moment,
  updatedAt: z.nullable(moment),
  workers: z.array(worker),
  behind: described(z.nullable(z.string()), 'id of another warmup, which the workers process first'),
  slots: z.array(z.object({ worker: z.string(), url: z.string(), since: moment, attempt: count })),
  rate: described(z.object({ now: rate, average: rate, peak: rate }), 'URLs per second'),
  perSecond: described(z.array(count), 'URLs done in each of the last 60 seconds, oldest first'),
  latency: z.object({
    p50: z.nullable(milliseconds),
    p90: z.nullable(milliseconds),
    p99: z.nullable(milliseconds),
    buckets: z.array(z.object({ upTo: milliseconds, count })),
  }),
  results: z.object({
    fetched: count,
    fresh: count,
    notStored: described(counts, 'by reason'),
    failed: described(counts, 'by status or error'),
  }),
  slowest: z.array(z.object({ url: z.string(), ms: milliseconds, at: moment })),
  failures: z.array(
    z.object({ url: z.string(), status: z.nullable(z.int()), error: z.string(), attempts: count, at: moment }),
  ),
  origins: z.array(origin),
  eta: z.nullable(z.object({ seconds: z.number(), low: z.number(), high: z.number() })),
})

/** Numbers of URLs that discovery left out, and the files it could not read. */
export const discovery = z.object({
  foreign: described(count, 'of other hosts or channels'),
  malformed: described(count, 'unreadable, too long or with control characters'),
  excluded: described(count, 'never cached, or with side effects'),
  disallowed: described(count, 'by robots.txt'),
  duplicates: count,
  otherTypes: described(count, 'of types that were not requested'),
  unknownType: described(count, 'of a type that is unknown before the fetch; included with the type `unknown`'),
  otherTags: described(count, 'without a requested tag, according to the cache'),
  files: count,
  errors: z.array(z.object({ url: z.string(), message: z.string() })),
})

export type WarmupDiscovery = z.output<typeof discovery>

/** The public part of a discovery. */
export function toDiscovery(found: RunDiscovery): WarmupDiscovery {
  const { foreign, malformed, excluded, disallowed, duplicates, otherTypes, unknownType, otherTags, files, errors } =
    found
  return { foreign, malformed, excluded, disallowed, duplicates, otherTypes, unknownType, otherTags, files, errors }
}

export const watchWarmup = defineOperation({
  name: 'warmup.watch',
  summary: 'Shows live figures of a warmup; default: the latest',
  input: z.object({ progressId: optionalId('expected the id of a warmup') }),
  output: z.object({
    success,
    progress: z.nullable(progressRecord),
    live: z.nullable(liveRecord),
    discovery: z.nullable(discovery),
  }),
  http: { method: 'GET', path: '/warmup/watch' },
  async run({ app }, { progressId }) {
    const [{ readProgress, readRun }, { readLive }] = await Promise.all([
      import('../warmup/run/runs.ts'),
      import('../warmup/run/live.ts'),
    ])
    const records = await app.records()
    const latest = progressId || (await readProgress(records))?.id
    const run = latest === undefined ? null : await readRun(records, latest)
    if (run === null) return { ...succeeded, progress: null, live: null, discovery: null }
    return {
      ...succeeded,
      progress: run.progress,
      live: await readLive(records, run.progress),
      discovery: toDiscovery(run.discovery),
    }
  },
})
