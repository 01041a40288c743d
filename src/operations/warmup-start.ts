import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { plural } from '../lib/plural.ts'
import { withSteadyHeap } from '../lib/steady-heap.ts'
import { pageTypes } from '../pages/page.ts'
import { defaultTypeRules, pathTypeResolver, type TypeRule } from '../pages/type.ts'
import type { Channel } from '../cache/channel.ts'
import type { Plan } from '../warmup/discover/plan.ts'
import { count, described, flag, id, integer, success, succeeded, text } from './fields.ts'
import { leftOutText } from './left-out.ts'
import { defineOperation, type OperationContext } from './operation.ts'
import { openPages } from './read-pages.ts'
import { discovery, toDiscovery } from './warmup-watch.ts'

const started = z.object({
  success,
  progressId: described(z.nullable(z.string()), 'null with dryRun'),
  totalUrls: count,
  discovery: described(
    z.optional(discovery),
    'with dryRun, and where URLs were left out or sitemaps could not be read',
  ),
  dryRun: z.optional(z.literal(true)),
  fresh: described(z.optional(count), 'with dryRun: URLs that are fresh in the cache and would not be fetched'),
  urls: described(z.optional(z.array(z.string())), 'with dryRun: the first of what would be fetched'),
})

export type Started = z.output<typeof started>

/** Named URLs come in one request body; more belong into a sitemap. */
const mostUrls = 10_000
const namedUrls = z
  .array(text(), { error: 'expected a list of URLs' })
  .check(z.maxLength(mostUrls, { error: `expected at most ${mostUrls} URLs` }))

/** How many URLs a dry run names; the number of all of them stands beside it. */
const dryRunSample = 100

const wantedTypes = [...pageTypes, 'unknown'] as const
const wantedType = z.enum(wantedTypes, { error: `expected one of ${wantedTypes.join(', ')}` })

const startInput = z.object({
  salesChannelId: z._default(z.nullable(id('expected the id of a sales channel, or null')), null),
  batchSize: z._default(integer(1, 1000), 50),
  urls: described(
    z.optional(namedUrls),
    'instead of the sitemaps; a path is below each channel unless it begins with the path of its URL',
  ),
  types: described(
    z.optional(z.array(wantedType, { error: 'expected a list of types' })),
    'only pages of these types, by what the cache and path rules know; `unknown`: those of which neither does',
  ),
  force: flag,
  dryRun: flag,
})

type StartInput = z.output<typeof startInput>

export const startWarmup = defineOperation({
  name: 'warmup.start',
  summary: 'Finds the URLs of one or all sales channels and starts to bring them into the cache',
  input: startInput,
  output: started,
  http: { method: 'POST', path: '/warmup/start' },
  run: (context, input) => withSteadyHeap(() => start(context, input)),
})

async function start(context: OperationContext, input: StartInput): Promise<Started> {
  if (input.urls !== undefined) await assertOwnUrls(context, input.urls)
  const plan = await makePlan(context, input)
  for (const barren of plan.barren) context.report({ kind: 'message', message: whyNothing(barren) })
  if (input.dryRun) return toDryRun(context, plan, input.force)
  const { createRun } = await import('../warmup/run/runs.ts')
  const { salesChannelId, batchSize, force } = input
  const leftOut = leftOutText(plan.discovery)
  const message = leftOut === '' ? {} : { message: `Left out: ${leftOut}` }
  const progress = await createRun(await context.app.records(), {
    salesChannelId,
    batchSize,
    force,
    ...plan,
    ...message,
  })
  if (progress.status === 'running' && context.source !== 'cli') await warnWithoutWorkers(context)
  const isWorthTelling = leftOut !== '' || plan.discovery.errors.length > 0
  return {
    ...succeeded,
    progressId: progress.id,
    totalUrls: progress.total_urls,
    ...(isWorthTelling && { discovery: toDiscovery(plan.discovery) }),
  }
}

/** Checks named URLs as a purge does; a path belongs to a channel by itself. */
async function assertOwnUrls({ app }: Pick<OperationContext, 'app'>, urls: readonly string[]): Promise<void> {
  const { toOwnUrl } = await import('./own-url.ts')
  const { proxy } = await app.proxy()
  for (const [index, url] of urls.entries())
    if (!/^\/(?![/\\])/.test(url)) toOwnUrl(url, `urls[${index}]`, proxy.classifying)
}

/** Says so where nobody works warmups: a run that nobody begins is no failure, and looks like one. */
export async function warnWithoutWorkers({ app, report }: Pick<OperationContext, 'app' | 'report'>): Promise<void> {
  const { isWorkedAnywhere } = await import('../workers/warmup.ts')
  if (await isWorkedAnywhere(app)) return
  report({
    kind: 'message',
    message:
      'No worker takes warmups now: it begins as soon as pagecache serve or pagecache messenger:consume async runs.',
  })
}

/** What a run is asked to warm. */
interface Wanted {
  salesChannelId: string | null
  types?: StartInput['types']
  /** Instead of the sitemaps. */
  urls?: Iterable<string> | undefined
}

/** Finds what a run has to warm. */
export async function makePlan(
  { app, signal, report }: Pick<OperationContext, 'app' | 'signal' | 'report'>,
  input: Wanted,
): Promise<Plan> {
  const { proxy } = await app.proxy()
  const { canonical, bypassPath, channels: known } = proxy.classifying
  const channels = chooseChannels(known.all, input.salesChannelId)
  if (channels.length === 0)
    report({
      kind: 'message',
      message: 'No sales channel is configured, so there is nothing to warm up: pagecache init writes one.',
    })
  const sitemaps = new Map(app.config.salesChannels.map((channel) => [channel.id, channel.sitemaps]))
  const [{ planRun }, { purgedUrls }, { openSitemapFetch }, { defaultLimits }] = await Promise.all([
    import('../warmup/discover/plan.ts'),
    import('../warmup/discover/purged-urls.ts'),
    import('../warmup/discover/discover-fetch.ts'),
    import('../warmup/run/limits.ts'),
  ])
  const records = await app.records()
  const pages = await openPages(app)
  const typeOfTarget = pathTypeResolver([...(app.config.cache.types as TypeRule[]), ...defaultTypeRules])
  const fetch = openSitemapFetch({ timeout: app.config.warmup.timeout, redirects: defaultLimits.redirects })
  try {
    return await planRun({
      channels: known,
      chosen: channels.map((channel) => ({ channel, sitemaps: sitemaps.get(channel.id) ?? [] })),
      canonicalise: canonical,
      isBypassed: bypassPath,
      fetch,
      limits: defaultLimits,
      signal,
      urls: input.urls ?? null,
      purged: () => purgedUrls(records, 0),
      types: input.types?.length ? input.types : null,
      typeOf: (url) => pages.findByUrl(url)[0]?.type ?? typeOfTarget(url.slice(new URL(url).origin.length)),
      onProgress: ({ files, urls }) => report({ kind: 'progress', progress: { phase: 'discovery', files, urls } }),
    })
  } finally {
    await fetch.close()
  }
}

/** Of the channels that this process stands before: the configured ones, or that of `serve --origin`. */
function chooseChannels(salesChannels: readonly Channel[], id: string | null): readonly Channel[] {
  if (id === null) return salesChannels
  const chosen = salesChannels.find((channel) => channel.id === id)
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

/** What a run would fetch. Each URL is looked up as a run would do it, so that what is fresh is not announced. */
async function toDryRun(
  { app, signal }: Pick<OperationContext, 'app' | 'signal'>,
  { discovery, lists, failure }: Plan,
  force: boolean,
): Promise<Started> {
  if (failure !== null) throw new PagecacheError('WARMUP_FAILED', failure)
  const [{ isFresh }, { toPasses }, { proxy }] = await Promise.all([
    import('../warmup/run/fetch-page.ts'),
    import('../warmup/run/variant.ts'),
    app.proxy(),
  ])
  const passes = toPasses(app.config.warmup.variants)
  const urls: string[] = []
  let fresh = 0
  for (const list of lists) {
    for (const url of list.urls) {
      signal.throwIfAborted()
      if (!force && (await isFresh(proxy, app.now, url, passes, signal))) fresh++
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
