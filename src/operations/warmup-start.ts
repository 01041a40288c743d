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

const startInput = z.object({
  salesChannelId: z._default(z.nullable(id('expected the id of a sales channel, or null')), null),
  batchSize: z._default(integer(1, 1000), 50),
  urls: described(
    z.optional(urlList),
    "instead of the sitemaps; a path is relative to each channel's URL unless it already starts with the URL's path",
  ),
  types: described(
    z.optional(z.array(wantedType, { error: 'expected a list of types' })),
    'only pages of these types, according to the cache and the path rules; `unknown`: pages of unknown type',
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
  const plan = await makePlan(context, input)
  for (const empty of plan.emptyChannels) context.report({ kind: 'message', message: nothingFoundText(empty) })
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
  const hasGaps = leftOut !== '' || plan.discovery.errors.length > 0
  return {
    ...succeeded,
    progressId: progress.id,
    totalUrls: progress.total_urls,
    ...(hasGaps && { discovery: toDiscovery(plan.discovery) }),
  }
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

/** Which pages a run warms up. */
interface PlanInput {
  salesChannelId: string | null
  types?: StartInput['types']
  /** Instead of the sitemaps. */
  urls?: Iterable<string> | undefined
}

/** Finds the URLs of a run. */
export async function makePlan(
  { app, signal, report }: Pick<OperationContext, 'app' | 'signal' | 'report'>,
  input: PlanInput,
): Promise<Plan> {
  const { cache } = await app.storefrontCache()
  const { canonical, bypassPath, channels: known } = cache.classifying
  const channels = chooseChannels(known.all, input.salesChannelId)
  if (channels.length === 0)
    report({
      kind: 'message',
      message:
        'No sales channel is configured, so there is nothing to warm up. Add one to pagecache.yaml; pagecache init writes an example.',
    })
  const sitemaps = new Map(app.config.salesChannels.map((channel) => [channel.id, channel.sitemaps]))
  const [{ planRun }, { purgedUrls }, { readPurgedPages }, { openSitemapFetch }, { defaultLimits }] = await Promise.all(
    [
      import('../warmup/discover/plan.ts'),
      import('../warmup/discover/purged-urls.ts'),
      import('../purge/log/purged-pages.ts'),
      import('../warmup/discover/discover-fetch.ts'),
      import('../warmup/discover/limits.ts'),
    ],
  )
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
      purged: () => purgedUrls(records, readPurgedPages(records, 0)),
      types: input.types?.length ? input.types : null,
      typeOf: (url) => pages.findByUrl(url)[0]?.type ?? typeOfTarget(url.slice(new URL(url).origin.length)),
      onProgress: ({ files, urls }) => report({ kind: 'progress', progress: { phase: 'discovery', files, urls } }),
    })
  } finally {
    await fetch.close()
  }
}

/** Selects from the channels that this process serves: the configured ones, or the one of `serve --origin`. @throws NOT_FOUND */
function chooseChannels(salesChannels: readonly Channel[], id: string | null): readonly Channel[] {
  if (id === null) return salesChannels
  const chosen = salesChannels.find((channel) => channel.id === id)
  if (chosen) return [chosen]
  const known = salesChannels.map((channel) => `${channel.id} (${channel.name})`).join(', ')
  throw new PagecacheError('NOT_FOUND', `There is no sales channel with the id ${id}.`, {
    hint:
      known === ''
        ? 'No sales channel is configured: add one under salesChannels in pagecache.yaml.'
        : `Configured: ${known}.`,
  })
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
