import type { App } from '../app.ts'
import type { Channel } from '../cache/channel.ts'
import { PagecacheError } from '../errors.ts'
import { defaultTypeRules, pathTypeResolver, type TypeRule } from '../pages/type.ts'
import type { Plan, PlanOptions } from '../warmup/discover/plan.ts'

/** Which pages a run warms. */
interface WarmupSelection {
  /** Null: all sales channels. */
  salesChannelId: string | null
  /** Only pages of these types; empty or absent: all types. */
  types?: PlanOptions['types'] | undefined
  /** Replaces the sitemaps. */
  urls?: Iterable<string> | undefined
  signal: AbortSignal
  onProgress: PlanOptions['onProgress']
}

/** Finds the URLs of a run. @throws NOT_FOUND for an unknown sales channel */
export async function makePlan(app: App, { signal, onProgress, ...wanted }: WarmupSelection): Promise<Plan> {
  const { cache } = await app.storefrontCache()
  const { canonical, bypassPath, emptyPath, channels } = cache.classifying
  const chosen = chooseChannels(channels.all, wanted.salesChannelId)
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
  const pages = await app.usablePages()
  const typeOfTarget = pathTypeResolver([...(app.config.cache.types as TypeRule[]), ...defaultTypeRules])
  const fetch = openSitemapFetch({ timeout: app.config.warmup.timeout, redirects: defaultLimits.redirects })
  try {
    return await planRun({
      channels,
      chosen: chosen.map((channel) => ({ channel, sitemaps: sitemaps.get(channel.id) ?? [] })),
      canonicalise: canonical,
      isBypassed: (path) => bypassPath(path) || emptyPath(path),
      fetch,
      limits: defaultLimits,
      signal,
      urls: wanted.urls ?? null,
      purged: () => purgedUrls(records, readPurgedPages(records, 0)),
      types: wanted.types?.length ? wanted.types : null,
      typeOf: (url) => pages.findByUrl(url)[0]?.type ?? typeOfTarget(url.slice(new URL(url).origin.length)),
      onProgress,
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
