import * as z from 'zod/mini'
import { maxWarmupConcurrency } from '../config/warmup.ts'
import { PagecacheError } from '../errors.ts'
import { toStatistics } from '../pages/statistics.ts'
import { statistics } from './cache.ts'
import {
  count,
  described,
  id,
  integer,
  limit,
  offset,
  optionalId,
  queryInteger,
  success,
  succeeded,
  text,
} from './fields.ts'
import { defineOperation } from './operation.ts'
import { readPages } from './read-pages.ts'
import { originsOf } from '../workers/warmup.ts'

export const warmupStatuses = ['running', 'paused', 'completed', 'cancelled', 'failed'] as const
const warmupStatus = z.enum(warmupStatuses, { error: `expected one of ${warmupStatuses.join(', ')}` })

/** The progress of a warmup. `percentage` is 0 to 100; `remaining_urls` is total minus processed minus failed. */
export const progressRecord = z.object({
  id: z.string(),
  status: warmupStatus,
  sales_channel_id: z.nullable(z.string()),
  batch_size: count,
  concurrency: described(
    z.nullable(count),
    'concurrent requests per origin, as set for this warmup; null: as configured (warmup.concurrency)',
  ),
  total_urls: count,
  checked_urls: count,
  processed_urls: count,
  skipped_urls: count,
  failed_urls: count,
  remaining_urls: count,
  percentage: z.number(),
  urls_per_second: z.number(),
  eta_seconds: z.nullable(z.number()),
  message: z.nullable(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  finished_at: z.nullable(z.iso.datetime()),
})

export type WarmupProgressRecord = z.output<typeof progressRecord>

const progressId = id('expected the id of a warmup')

export const readWarmupProgress = defineOperation({
  name: 'warmup.progress',
  summary: 'Shows the progress of a warmup; default: the latest',
  input: z.object({ progressId: optionalId('expected the id of a warmup') }),
  output: z.object({ success, progress: z.nullable(progressRecord), cacheStats: statistics }),
  http: { method: 'GET', path: '/warmup/progress' },
  async run({ app }, input) {
    const { readProgress } = await import('../warmup/run/runs.ts')
    const progress = await readProgress(await app.records(), input.progressId || undefined)
    return {
      ...succeeded,
      progress,
      cacheStats: toStatistics(await readPages(app, (pages) => pages.counters()), app.config.cache.compression),
    }
  },
})

const stateChangeInput = z.object({ progressId })
const stateChange = z.object({ success, progress: progressRecord })

export const pauseWarmup = defineOperation({
  name: 'warmup.pause',
  summary: 'Pauses a running warmup after the fetches in progress',
  input: stateChangeInput,
  output: stateChange,
  http: { method: 'POST', path: '/warmup/pause' },
  async run({ app }, input) {
    const { pauseRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await pauseRun(await app.records(), input.progressId) }
  },
})

export const resumeWarmup = defineOperation({
  name: 'warmup.resume',
  summary: 'Resumes a paused warmup',
  input: stateChangeInput,
  output: stateChange,
  http: { method: 'POST', path: '/warmup/resume' },
  async run({ app }, input) {
    const { resumeRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await resumeRun(await app.records(), input.progressId, originsOf(app)) }
  },
})

export const cancelWarmup = defineOperation({
  name: 'warmup.cancel',
  summary: 'Cancels a running or paused warmup; keeps the pages already cached',
  input: stateChangeInput,
  output: stateChange,
  http: { method: 'POST', path: '/warmup/cancel' },
  async run({ app }, input) {
    const { cancelRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await cancelRun(await app.records(), input.progressId) }
  },
})

const concurrency = described(
  z.optional(z.nullable(integer(1, maxWarmupConcurrency))),
  'concurrent requests per origin; null: as configured (warmup.concurrency)',
)

export const changeWarmupConcurrency = defineOperation({
  name: 'warmup.concurrency',
  summary: 'Changes the concurrency of a running or paused warmup, for all its workers within a second',
  input: z.object({
    progressId,
    concurrency,
    change: described(
      z.optional(integer(-maxWarmupConcurrency, maxWarmupConcurrency)),
      `instead of concurrency: how many requests more or, if negative, fewer; the result stays within 1 and ${maxWarmupConcurrency}`,
    ),
  }),
  output: stateChange,
  http: { method: 'POST', path: '/warmup/concurrency' },
  async run({ app }, { progressId: id, concurrency: to, change }) {
    if ((to === undefined) === (change === undefined))
      throw new PagecacheError('INVALID_INPUT', 'Give either concurrency or change.')
    const { changeConcurrency } = await import('../warmup/run/moves.ts')
    const configured = app.config.warmup.concurrency
    const next = (before: number | null) =>
      change === undefined ? (to ?? null) : Math.max(1, Math.min(maxWarmupConcurrency, (before ?? configured) + change))
    return { ...succeeded, progress: await changeConcurrency(await app.records(), id, next) }
  },
})

export const listWarmups = defineOperation({
  name: 'warmup.list',
  summary: 'Lists warmups, newest first',
  input: z.object({ status: z.optional(warmupStatus), limit, offset }),
  output: z.object({ success, total: count, limit: count, offset: count, items: z.array(progressRecord) }),
  http: { method: 'GET', path: '/warmup/list' },
  async run({ app }, { status, ...range }) {
    const { listRuns } = await import('../warmup/run/runs.ts')
    const { total, items } = await listRuns(await app.records(), range, status)
    return { ...succeeded, total, ...range, items }
  },
})

const failure = z.object({
  url: z.string(),
  variant: described(count, 'index of the configured variant, from 0'),
  status: z.nullable(z.int()),
  error: described(z.string(), 'the reason; for a page that was fetched but not stored, what forbids storing it'),
  attempts: count,
  at: z.iso.datetime(),
})

const failures = z.object({
  success,
  progressId: z.string(),
  total: count,
  limit: count,
  offset: count,
  reasons: described(
    z.array(z.object({ error: z.string(), count, remedy: described(z.nullable(z.string()), 'what to do about it') })),
    'the most frequent reasons of the whole warmup',
  ),
  items: z.array(failure),
})

export type WarmupFailures = z.output<typeof failures>

/** Limits the cost of a substring search over all failures. */
const maxFilterLength = 200
const filterText = text().check(
  z.maxLength(maxFilterLength, { error: `expected at most ${maxFilterLength} characters` }),
)

const maxReasons = 10

export const listWarmupFailures = defineOperation({
  name: 'warmup.failures',
  summary: 'Lists the pages that a warmup could not cache, with the reasons; default: the latest warmup',
  input: z.object({
    progressId: optionalId('expected the id of a warmup'),
    status: z.optional(queryInteger(100, 599)),
    error: described(z.optional(filterText), 'part of the reason'),
    url: described(z.optional(filterText), 'part of the URL'),
    limit,
    offset,
  }),
  output: failures,
  http: { method: 'GET', path: '/warmup/failures' },
  async run({ app }, input) {
    const [{ readProgress }, { listFailures, topFailures }, { storageRemedy }] = await Promise.all([
      import('../warmup/run/runs.ts'),
      import('../warmup/run/failures.ts'),
      import('../cache/storage-remedy.ts'),
    ])
    const records = await app.records()
    const run = await readProgress(records, input.progressId || undefined)
    if (run === null)
      throw new PagecacheError(
        'NOT_FOUND',
        !input.progressId ? 'There is no warmup yet.' : `There is no warmup ${input.progressId}.`,
      )
    const { total, items } = await listFailures(records, run.id, input, input)
    const { limit, offset } = input
    const reasons = await topFailures(records, run.id, maxReasons)
    return {
      ...succeeded,
      progressId: run.id,
      total,
      limit,
      offset,
      reasons: reasons.map((reason) => ({ ...reason, remedy: storageRemedy(reason.error) })),
      items: items.map((item) => ({ ...item, at: new Date(item.at).toISOString() })),
    }
  },
})
