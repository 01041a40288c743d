import * as z from 'zod/mini'
import { maxWarmupConcurrency, warmupOrders } from '../config/warmup.ts'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import { withSteadyHeap } from '../lib/steady-heap.ts'
import { pageTypes } from '../pages/page.ts'
import { tagPattern } from '../purge/purge-key.ts'
import type { Plan } from '../warmup/discover/plan.ts'
import { count, described, flag, id, integer, success, succeeded, text } from './fields.ts'
import { leftOutText } from './left-out.ts'
import { defineOperation, type OperationContext } from './operation.ts'
import { discovery, toDiscovery } from './warmup-watch.ts'

const started = z.object({
  success,
  progressId: described(z.nullable(z.string()), 'null with dryRun'),
  totalUrls: count,
  discovery: described(z.optional(discovery), 'with dryRun, and if URLs were left out or sitemaps could not be read'),
  dryRun: z.optional(z.literal(true)),
  fresh: described(z.optional(count), 'with dryRun: URLs that are already fresh'),
  urls: described(z.optional(z.array(z.string())), 'with dryRun: a sample of the URLs'),
})

export type Started = z.output<typeof started>

/** URLs in one request body; a longer list belongs in a sitemap. */
const maxUrls = 10_000
const urlList = z
  .array(text(), { error: 'expected a list of URLs' })
  .check(z.maxLength(maxUrls, { error: `expected at most ${maxUrls} URLs` }))

/** URLs listed by a dry run; `totalUrls` counts all of them. */
const dryRunSample = 100

const wantedTypes = [...pageTypes, 'unknown'] as const
const wantedType = z.enum(wantedTypes, { error: `expected one of ${wantedTypes.join(', ')}` })

/** Tags in one request. */
const maxTags = 1_000
const tag = text('expected a non-empty tag').check(
  z.regex(tagPattern, { error: 'expected a tag of at most 1024 characters, without whitespace and commas' }),
)

const startInput = z.object({
  salesChannelId: z._default(z.nullable(id('expected the id of a sales channel, or null')), null),
  batchSize: z._default(integer(1, 1000), 50),
  concurrency: described(
    z.optional(integer(1, maxWarmupConcurrency)),
    'concurrent requests per origin; default: as configured (warmup.concurrency)',
  ),
  urls: described(
    z.optional(urlList),
    "instead of the sitemaps; a path is relative to each channel's URL unless it already starts with the URL's path",
  ),
  types: described(
    z.optional(z.array(wantedType, { error: 'expected a list of types' })),
    'only pages of these types, according to the cache and the path rules; `unknown`: pages of unknown type',
  ),
  tags: described(
    z.optional(
      z
        .array(tag, { error: 'expected a list of tags' })
        .check(z.maxLength(maxTags, { error: `expected at most ${maxTags} tags` })),
    ),
    'only pages with any of these tags, according to the cache. Without urls they replace the sitemaps: pages with such a tag, and pages that a purge of such a tag removed',
  ),
  order: described(
    z._default(z.enum(warmupOrders, { error: `expected one of ${warmupOrders.join(', ')}` }), 'priority'),
    'priority: as the sitemap ranks them; hits: the most visited pages of the cache first',
  ),
  force: flag,
  dryRun: flag,
})

type StartInput = z.output<typeof startInput>

export const startWarmup = defineOperation({
  name: 'warmup.start',
  summary: 'Starts a warmup: finds the URLs of one or all sales channels and caches their pages',
  input: startInput,
  output: started,
  http: { method: 'POST', path: '/warmup/start' },
  run: (context, input) => withSteadyHeap(() => start(context, input)),
})

async function start(context: OperationContext, input: StartInput): Promise<Started> {
  if (input.urls !== undefined) await assertOwnUrls(context, input.urls)
  const plan = await planWarmup(context, input)
  for (const empty of plan.emptyChannels) context.report({ kind: 'message', message: nothingFoundText(empty) })
  if (input.urls === undefined && input.tags !== undefined && plan.discovery.total === 0)
    context.report({ kind: 'message', message: untaggedText(input.tags) })
  if (input.dryRun) return toDryRun(context, plan, input.force)
  const { createRun } = await import('../warmup/run/runs.ts')
  const { salesChannelId, batchSize, concurrency = null, force } = input
  const leftOut = leftOutText(plan.discovery)
  const message = leftOut === '' ? {} : { message: `Left out: ${leftOut}` }
  const progress = await createRun(await context.app.records(), {
    salesChannelId,
    batchSize,
    concurrency,
    force,
    ...plan,
    ...message,
  })
  if (progress.status === 'running') await tellWhatIsAhead(context, progress.id)
  if (progress.status === 'running' && context.source !== 'cli') await warnWithoutWorkers(context)
  const hasGaps = leftOut !== '' || plan.discovery.errors.length > 0
  return {
    ...succeeded,
    progressId: progress.id,
    totalUrls: progress.total_urls,
    ...(hasGaps && { discovery: toDiscovery(plan.discovery) }),
  }
}

async function tellWhatIsAhead({ app, report }: OperationContext, id: string): Promise<void> {
  const { findRunAhead } = await import('../warmup/run/live.ts')
  const ahead = await findRunAhead(await app.records(), id)
  if (ahead !== null)
    report({ kind: 'message', message: `This warmup begins after warmup ${ahead}, which is in progress.` })
}

async function planWarmup({ app, signal, report }: OperationContext, input: StartInput): Promise<Plan> {
  const { makePlan } = await import('../workers/plan-warmup.ts')
  const { cache } = await app.storefrontCache()
  if (input.salesChannelId === null && cache.classifying.channels.all.length === 0)
    throw new PagecacheError('WRONG_STATE', 'No sales channel is configured, so there is nothing to warm up.', {
      hint: 'Add one under salesChannels in pagecache.yaml (pagecache init writes an example), or start the daemon with pagecache serve --origin URL.',
    })
  return makePlan(app, {
    ...input,
    signal,
    onProgress: ({ files, urls }) => report({ kind: 'progress', progress: { phase: 'discovery', files, urls } }),
  })
}

/** Validates URLs as a purge does; a path always belongs to a channel. @throws INVALID_INPUT */
async function assertOwnUrls({ app }: Pick<OperationContext, 'app'>, urls: readonly string[]): Promise<void> {
  const { toOwnUrl } = await import('./own-url.ts')
  const { cache } = await app.storefrontCache()
  for (const [index, url] of urls.entries())
    if (!/^\/(?![/\\])/.test(url)) toOwnUrl(url, `urls[${index}]`, cache.classifying)
}

/** Warns if no worker is running, because the run then stays at zero and looks like a failure. */
export async function warnWithoutWorkers({ app, report }: Pick<OperationContext, 'app' | 'report'>): Promise<void> {
  const { hasWorkers } = await import('../warmup/run/active-workers.ts')
  if (await hasWorkers(await app.queue())) return
  report({
    kind: 'message',
    message:
      'No worker is running. The warmup begins once pagecache serve or pagecache messenger:consume async is running.',
  })
}

function untaggedText(tags: readonly string[]): string {
  const named = tags.length === 1 ? `the tag ${printable(tags[0]!)}` : 'any of these tags'
  return `Nothing to warm up: no cached page has ${named}, and the purge log has no page that such a purge removed.`
}

function nothingFoundText({ channel, foreign, others }: Plan['emptyChannels'][number]): string {
  const found = `${channel.name} (${channel.url}): nothing to warm up. None of the ${plural(foreign + others, 'URL')} in its sitemaps is a cacheable page of this sales channel.`
  if (foreign === 0) return found
  return `${found} Of other hosts or channels: ${others === 0 ? 'all' : foreign}. Check the url of this sales channel.`
}

/** Lists what a run would fetch. Each URL is looked up as in a run, so that fresh pages are skipped. */
async function toDryRun(
  { app, signal }: Pick<OperationContext, 'app' | 'signal'>,
  { discovery, lists, failure }: Plan,
  force: boolean,
): Promise<Started> {
  if (failure !== null) throw new PagecacheError('WARMUP_FAILED', failure)
  const [{ isFresh }, { toPasses }, { cache }] = await Promise.all([
    import('../warmup/run/fetch-page.ts'),
    import('../warmup/run/variant.ts'),
    app.storefrontCache(),
  ])
  const passes = toPasses(app.config.warmup.variants)
  const urls: string[] = []
  let fresh = 0
  for (const list of lists) {
    for (const url of list.urls) {
      signal.throwIfAborted()
      if (!force && (await isFresh(cache, app.now, url, passes, signal))) fresh++
      else if (urls.length < dryRunSample) urls.push(url)
    }
  }
  return {
    ...succeeded,
    progressId: null,
    totalUrls: discovery.total - fresh,
    discovery: toDiscovery(discovery),
    dryRun: true as const,
    fresh,
    urls,
  }
}
