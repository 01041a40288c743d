import { setImmediate as nextTurn } from 'node:timers/promises'
import type { App } from '../app.ts'
import type { Channel } from '../cache/channel.ts'
import { unknownChannel } from '../errors.ts'
import type { PageStore } from '../pages/page-store.ts'
import { defaultTypeRules, pathTypeResolver, type TypeRule } from '../pages/type.ts'
import type { Records } from '../records/open.ts'
import type { WarmupOrder } from '../config/warmup.ts'
import type { Plan, PlanOptions } from '../warmup/discover/plan.ts'

/** Which pages a run warms. */
interface WarmupSelection {
  /** Null: all sales channels. */
  salesChannelId: string | null
  /** Only pages of these types; empty or absent: all types. */
  types?: PlanOptions['types'] | undefined
  /** Replaces the sitemaps. */
  urls?: Iterable<string> | undefined
  /**
   * Only pages with any of these tags, according to the cache. Without `urls` they replace the sitemaps: pages that have such a tag, and
   * pages that a purge of such a tag removed.
   */
  tags?: readonly string[] | undefined
  /** Default: priority. */
  order?: WarmupOrder | undefined
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
  const { tags = [] } = wanted
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
      urls: wanted.urls ?? (tags.length > 0 ? await taggedUrls(records, pages, tags) : null),
      purged: () => purgedUrls(records, readPurgedPages(records, 0)),
      types: wanted.types?.length ? wanted.types : null,
      typeOf: (url) => pages.findByUrl(url)[0]?.type ?? typeOfTarget(url.slice(new URL(url).origin.length)),
      hasTag:
        wanted.urls !== undefined && tags.length > 0
          ? (url) => pages.findByUrl(url).some((page) => page.tags.some((tag) => tags.includes(tag)))
          : null,
      hitsOf: wanted.order === 'hits' ? (urls) => pages.hitsOf(urls) : null,
      onProgress,
    })
  } finally {
    await fetch.close()
  }
}

/** Pages read at a time: a few milliseconds. */
const taggedAtOnce = 1_000

/** The URLs of cached pages with any of the tags, then those of pages that purges of the tags removed. */
async function taggedUrls(records: Records, pages: PageStore, tags: readonly string[]): Promise<Iterable<string>> {
  const [{ UrlList }, { purgedUrls }, { readPurgedPages }] = await Promise.all([
    import('../warmup/discover/url-list.ts'),
    import('../warmup/discover/purged-urls.ts'),
    import('../purge/log/purged-pages.ts'),
  ])
  const urls = new UrlList()
  for (const tag of tags) {
    for (let after = 0, more = true; more;) {
      const found = pages.tagged(tag, after, taggedAtOnce)
      for (const { url } of found) urls.addRanked(url, 0)
      after = found.at(-1)?.id ?? after
      more = found.length === taggedAtOnce
      await nextTurn()
    }
  }
  for await (const url of purgedUrls(records, readPurgedPages(records, 0, { tags }))) urls.addRanked(url, 0)
  return urls.seal()
}

/** Selects from the channels that this process serves: the configured ones, or the one of `serve --origin`. @throws NOT_FOUND */
function chooseChannels(salesChannels: readonly Channel[], id: string | null): readonly Channel[] {
  if (id === null) return salesChannels
  const chosen = salesChannels.find((channel) => channel.id === id)
  if (chosen) return [chosen]
  throw unknownChannel(id, salesChannels)
}
