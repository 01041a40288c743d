import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { toStatistics } from '../pages/statistics.ts'
import { statistics } from './cache.ts'
import { count, described, id, limit, offset, optionalId, queryInteger, success, succeeded, text } from './fields.ts'
import { defineOperation } from './operation.ts'
import { readPages } from './read-pages.ts'
import { originsOf } from '../workers/warmup.ts'

/** The progress record: spec 1, section 2, and contract section 4. */
export const progressRecord = z.object({
  id: z.string(),
  status: z.enum(['running', 'paused', 'completed', 'cancelled', 'failed']),
  sales_channel_id: z.nullable(z.string()),
  batch_size: count,
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
  summary: 'How far a warmup has come; the latest one without an id',
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

const moveInput = z.object({ progressId })
const moved = z.object({ success, progress: progressRecord })

export const pauseWarmup = defineOperation({
  name: 'warmup.pause',
  summary: 'Pauses a running warmup; the pages that are being fetched are finished',
  input: moveInput,
  output: moved,
  http: { method: 'POST', path: '/warmup/pause' },
  async run({ app }, input) {
    const { pauseRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await pauseRun(await app.records(), input.progressId) }
  },
})

export const resumeWarmup = defineOperation({
  name: 'warmup.resume',
  summary: 'Resumes a paused warmup where it was',
  input: moveInput,
  output: moved,
  http: { method: 'POST', path: '/warmup/resume' },
  async run({ app }, input) {
    const { resumeRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await resumeRun(await app.records(), input.progressId, originsOf(app)) }
  },
})

export const cancelWarmup = defineOperation({
  name: 'warmup.cancel',
  summary: 'Cancels a running or paused warmup; the pages that are in the cache stay there',
  input: moveInput,
  output: moved,
  http: { method: 'POST', path: '/warmup/cancel' },
  async run({ app }, input) {
    const { cancelRun } = await import('../warmup/run/moves.ts')
    return { ...succeeded, progress: await cancelRun(await app.records(), input.progressId) }
  },
})

export const listWarmups = defineOperation({
  name: 'warmup.list',
  summary: 'Warmups, the latest first',
  input: z.object({ limit, offset }),
  output: z.object({ success, total: count, limit: count, offset: count, items: z.array(progressRecord) }),
  http: { method: 'GET', path: '/warmup/list' },
  async run({ app }, input) {
    const { listRuns } = await import('../warmup/run/runs.ts')
    const { total, items } = await listRuns(await app.records(), input)
    return { ...succeeded, total, ...input, items }
  },
})

const failure = z.object({
  url: z.string(),
  variant: described(count, 'which of the configured variants, from 0'),
  status: z.nullable(z.int()),
  error: described(z.string(), 'why; of a page that was fetched and not stored, what forbids it'),
  attempts: count,
  at: z.iso.datetime(),
})

const failures = z.object({
  success,
  progressId: z.string(),
  total: count,
  limit: count,
  offset: count,
  reasons: described(z.array(z.object({ error: z.string(), count })), 'the commonest of the whole warmup'),
  items: z.array(failure),
})

export type WarmupFailures = z.output<typeof failures>

/** Longer ones would be compared with each place of each row. */
const longestPart = 200
const textPart = text().check(z.maxLength(longestPart, { error: `expected at most ${longestPart} characters` }))

const reasonsTold = 10

export const listWarmupFailures = defineOperation({
  name: 'warmup.failures',
  summary: 'The pages that a warmup could not bring into the cache, with the reasons; of the latest one without an id',
  input: z.object({
    progressId: optionalId('expected the id of a warmup'),
    status: z.optional(queryInteger(100, 599)),
    error: described(z.optional(textPart), 'a part of the reason'),
    url: described(z.optional(textPart), 'a part of the URL'),
    limit,
    offset,
  }),
  output: failures,
  http: { method: 'GET', path: '/warmup/failures' },
  async run({ app }, input) {
    const [{ readProgress }, { listFailures, topFailures }] = await Promise.all([
      import('../warmup/run/runs.ts'),
      import('../warmup/run/failures.ts'),
    ])
    const records = await app.records()
    const run = await readProgress(records, input.progressId || undefined)
    if (run === null)
      throw new PagecacheError(
        'NOT_FOUND',
        !input.progressId ? 'There is no warmup.' : `There is no warmup ${input.progressId}.`,
      )
    const { total, items } = await listFailures(records, run.id, input, input)
    const { limit, offset } = input
    const reasons = await topFailures(records, run.id, reasonsTold)
    return {
      ...succeeded,
      progressId: run.id,
      total,
      limit,
      offset,
      reasons,
      items: items.map((item) => ({ ...item, at: new Date(item.at).toISOString() })),
    }
  },
})
