import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/plural.ts'
import type { WarmupProgress } from '../warmup/progress.ts'
import type { Plan } from '../warmup/plan.ts'
import { count, described, flag, integer, pageType, success, succeeded, text } from './fields.ts'
import { defineOperation, type OperationContext } from './operation.ts'
import { openPages } from './read-pages.ts'

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

/** What discovery left out, and which files it could not read. */
const discovery = z.object({
  foreign: count,
  refused: count,
  disallowed: count,
  duplicates: count,
  otherTypes: count,
  files: count,
  errors: z.array(z.object({ url: z.string(), message: z.string() })),
})

const started = z.object({
  success,
  progressId: described(z.nullable(z.string()), 'null with dryRun'),
  totalUrls: count,
  dryRun: z.optional(z.literal(true)),
  urls: described(z.optional(z.array(z.string())), 'with dryRun: the first of what would be fetched'),
  discovery: described(z.optional(discovery), 'with dryRun'),
})

export type Started = z.output<typeof started>

/** Named URLs come in one request body; more belong into a sitemap. */
const mostUrls = 10_000
const namedUrls = z.array(text()).check(z.maxLength(mostUrls, { error: `expected at most ${mostUrls} URLs` }))

/** How many URLs a dry run names; the number of all of them stands beside it. */
const dryRunSample = 1000

export const startWarmup = defineOperation({
  name: 'warmup.start',
  summary: 'Finds the URLs of one or all sales channels and starts to bring them into the cache',
  input: z.object({
    salesChannelId: z._default(z.nullable(text('expected the id of a sales channel, or null')), null),
    batchSize: z._default(integer(1, 1000), 50),
    urls: z.optional(namedUrls),
    types: z.optional(z.array(pageType)),
    force: flag,
    dryRun: flag,
  }),
  output: started,
  http: { method: 'POST', path: '/warmup/start' },
  async run(context, input) {
    const plan = await makePlan(context, input)
    for (const barren of plan.barren) context.report({ kind: 'message', message: whyNothing(barren) })
    if (input.dryRun) return toDryRun(plan)
    const { createRun } = await import('../warmup/runs.ts')
    const { salesChannelId, batchSize, force } = input
    const progress = await createRun(await context.app.records(), { salesChannelId, batchSize, force, ...plan })
    return { ...succeeded, progressId: progress.id, totalUrls: progress.total_urls }
  },
})

type StartInput = z.output<typeof startWarmup.input>

async function makePlan({ app, signal, report }: OperationContext, input: StartInput): Promise<Plan> {
  const channels = chooseChannels(app, input.salesChannelId)
  if (channels.length === 0) report({ kind: 'message', message: 'No sales channel is configured, so there is nothing to warm up: pagecache init writes one.' })
  const [{ planRun }, { openSitemapFetch }, { defaultLimits }] = await Promise.all([
    import('../warmup/plan.ts'),
    import('../warmup/discover-fetch.ts'),
    import('../warmup/limits.ts'),
  ])
  const { proxy } = await app.proxy()
  const pages = await openPages(app)
  const { canonical, bypassPath, channels: known } = proxy.classifying
  const fetch = openSitemapFetch({ timeout: app.config.warmup.timeout, redirects: defaultLimits.redirects })
  try {
    return await planRun({
      channels: known,
      chosen: channels.map(({ id, sitemaps }) => ({ channel: known.all.find((channel) => channel.id === id)!, sitemaps })),
      canonicalise: canonical,
      isBypassed: bypassPath,
      fetch,
      limits: defaultLimits,
      signal,
      urls: input.urls ?? null,
      types: input.types?.length ? input.types : null,
      typeOf: (url) => pages.findByUrl(url)[0]?.type ?? null,
      onProgress: ({ files, urls }) => report({ kind: 'progress', progress: { phase: 'discovery', files, urls } }),
    })
  } finally {
    await fetch.close()
  }
}

function chooseChannels(app: App, id: string | null) {
  const { salesChannels } = app.config
  if (id === null) return salesChannels
  const plain = (spelt: string) => spelt.toLowerCase().replaceAll('-', '')
  const chosen = salesChannels.find((channel) => plain(channel.id) === plain(id))
  if (chosen) return [chosen]
  const known = salesChannels.map((channel) => `${channel.id} (${channel.name})`).join(', ')
  throw new PagecacheError('NOT_FOUND', `No sales channel has the id ${id}`, {
    hint: known === '' ? 'None is configured: name one under salesChannels in pagecache.yaml.' : `There are: ${known}.`,
  })
}

function whyNothing({ channel, foreign, others }: Plan['barren'][number]): string {
  const found = `${channel.name} (${channel.url}): nothing to warm up. Its sitemaps name ${plural(foreign + others, 'URL')}, and none is a page of this sales channel that may be warmed.`
  if (foreign === 0) return found
  return `${found} Of other hosts or channels: ${others === 0 ? 'all' : foreign}; the url of this sales channel may be wrong.`
}

function toDryRun({ discovery, lists, failure }: Plan): Started {
  if (failure !== null) throw new PagecacheError('WARMUP_FAILED', failure)
  const { total, foreign, refused, disallowed, duplicates, otherTypes, files, errors } = discovery
  return {
    ...succeeded,
    progressId: null,
    totalUrls: total,
    dryRun: true as const,
    urls: lists.flatMap((list) => list.urls.slice(0, dryRunSample)).slice(0, dryRunSample),
    discovery: { foreign, refused, disallowed, duplicates, otherTypes, files, errors },
  }
}

/** What is told of a run when it has ended, beside its record. */
export interface WarmupReport {
  progress: WarmupProgress
  discovery: z.output<typeof discovery>
  /** Why URLs failed, the commonest first. */
  reasons: { error: string; count: number }[]
  /** The first URLs that failed. */
  failures: { url: string; error: string }[]
}

/** The longest that a `Retry-After` or a `Crawl-delay` is obeyed (milliseconds): a typing error in a shop must not stop a run for a day. */
const longestWait = 60_000
const reasonsTold = 5
const failuresTold = 10

/**
 * Works a run in this process until it is done or the context's signal is aborted; what is under way is finished then,
 * and the run is paused. Progress is reported about four times a second.
 */
export async function workWarmup({ app, signal, report }: OperationContext, id: string): Promise<WarmupReport> {
  const [{ workRun }, { readRun }, { listFailures, setStatus, topFailures }, { toFetchPage }, { toPasses }, { realTiming }] = await Promise.all([
    import('../warmup/work-run.ts'),
    import('../warmup/runs.ts'),
    import('../warmup/save-progress.ts'),
    import('../warmup/fetch-page.ts'),
    import('../warmup/variant.ts'),
    import('../warmup/timing.ts'),
  ])
  const { concurrency, requestsPerSecond, timeout, retries, variants } = app.config.warmup
  const records = await app.records()
  const { proxy } = await app.proxy()
  const { force, discovery } = await readRun(records, id)
  await workRun({
    records,
    runId: id,
    origins: byOrigin(app, discovery.crawlDelays).map(({ channelIds, crawlDelay }) => ({
      channelIds,
      rules: { concurrency, requestsPerSecond, crawlDelay, retries, longestWait },
    })),
    fetchPage: toFetchPage(proxy, app.now, timeout),
    passes: toPasses(variants),
    force,
    stop: signal,
    abort: new AbortController().signal,
    timing: realTiming,
    random: Math.random,
    onProgress: (progress) => report({ kind: 'progress', progress: { phase: 'warming', ...progress } }),
  })
  if (signal.aborted) await setStatus(records, id, 'paused', 'Interrupted')
  const { progress } = await readRun(records, id)
  const { items } = await listFailures(records, id, { limit: failuresTold, offset: 0 })
  return { progress, discovery, reasons: await topFailures(records, id, reasonsTold), failures: items }
}

/** Channels of one origin share its limits; the longest delay that a robots.txt of theirs asks for counts. */
function byOrigin(app: App, crawlDelays: Readonly<Record<string, number>>): { channelIds: string[]; crawlDelay: number | null }[] {
  return [...Map.groupBy(app.config.salesChannels, (channel) => channel.origin).values()].map((channels) => {
    const channelIds = channels.map((channel) => channel.id)
    const delays = channelIds.flatMap((channelId) => crawlDelays[channelId] ?? [])
    return { channelIds, crawlDelay: delays.length > 0 ? Math.max(...delays) : null }
  })
}
