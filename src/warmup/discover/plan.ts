import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageType } from '../../pages/page.ts'
import type { Channel, Channels } from '../../cache/channel.ts'
import { discoverChannel, type DiscoverOptions, type DiscoveryCounts } from './discover.ts'
import { belowChannel, judgePageUrl, type Judgement } from './page-url.ts'
import { UrlList } from './url-list.ts'

interface PlannedChannel {
  channel: Channel
  sitemaps: readonly string[]
}

/** What discovery found over all channels of a run; it is kept with the run. */
export interface RunDiscovery extends DiscoveryCounts {
  /** Of another type than was asked for, as far as the cache or a path rule tells. */
  otherTypes: number
  /** Left out because their type shows only when they are fetched. */
  unknownType: number
  /** Milliseconds between two requests, by the id of the channel whose robots.txt asks for them. */
  crawlDelays: Record<string, number>
}

export interface Plan {
  discovery: RunDiscovery
  lists: { channelId: string; origin: string; urls: Iterable<string> }[]
  /** The channels whose sitemaps name pages, but none that can be warmed: how many of these are foreign, and how many not. */
  barren: { channel: Channel; foreign: number; others: number }[]
  /** Why nothing could be found; null where something could, or there was nothing to find. */
  failure: string | null
}

export interface PlanOptions extends Pick<
  DiscoverOptions,
  'canonicalise' | 'isBypassed' | 'fetch' | 'limits' | 'signal' | 'purged'
> {
  channels: Channels
  /** The channels that are to be warmed. */
  chosen: readonly PlannedChannel[]
  /** Instead of the sitemaps. Relative ones are meant below each chosen channel. */
  urls: Iterable<string> | null
  /** Only pages of these types; `unknown` are those whose type shows only when they are fetched. Null for all. */
  types: readonly (PageType | 'unknown')[] | null
  /** The type of a URL without fetching it; null where neither the cache nor a path rule tells. */
  typeOf: (url: string) => PageType | null
  onProgress: (counts: { files: number; urls: number }) => void
}

/** Finds what a run has to warm. */
export async function planRun(options: PlanOptions): Promise<Plan> {
  const discovery: RunDiscovery = {
    total: 0,
    foreign: 0,
    malformed: 0,
    excluded: 0,
    disallowed: 0,
    duplicates: 0,
    files: 0,
    errors: [],
    otherTypes: 0,
    unknownType: 0,
    crawlDelays: {},
  }
  const barren: Plan['barren'] = []
  const found = options.urls
    ? judgeGiven(options, options.urls, discovery)
    : await discoverAll(options, discovery, barren)
  const lists: Plan['lists'] = []
  for (const { channel, urls } of found) {
    const kept = options.types ? await keepTypes(urls, options.types, options.typeOf, discovery) : urls
    discovery.total += kept.size
    lists.push({ channelId: channel.id, origin: channel.origin, urls: kept.seal() })
  }
  return { discovery, lists, barren, failure: failureOf(discovery) }
}

interface Found {
  channel: Channel
  urls: UrlList
}

async function discoverAll(options: PlanOptions, discovery: RunDiscovery, barren: Plan['barren']): Promise<Found[]> {
  const lists: Found[] = []
  let found = 0
  for (const { channel, sitemaps } of options.chosen) {
    const before = { files: discovery.files, urls: found }
    const onProgress = ({ files, urls }: { files: number; urls: number }) =>
      options.onProgress({ files: before.files + files, urls: before.urls + urls })
    const { urls, crawlDelay, total, ...counts } = await discoverChannel({ ...options, channel, sitemaps, onProgress })
    for (const key of ['foreign', 'malformed', 'excluded', 'disallowed', 'duplicates', 'files'] as const)
      discovery[key] += counts[key]
    discovery.errors.push(...counts.errors)
    const others = counts.malformed + counts.excluded + counts.disallowed
    if (total === 0 && counts.foreign + others > 0) barren.push({ channel, foreign: counts.foreign, others })
    if (crawlDelay !== null) discovery.crawlDelays[channel.id] = crawlDelay
    found += total
    lists.push({ channel, urls })
  }
  return lists
}

/** URLs that somebody named: as strictly judged as those of a sitemap, but robots.txt is not asked. */
function judgeGiven(options: PlanOptions, given: Iterable<string>, discovery: RunDiscovery): Found[] {
  const found = new Map(options.chosen.map(({ channel }) => [channel, new UrlList()]))
  for (const location of given) {
    const judged = options.chosen.map(({ channel }) => ({
      channel,
      ...judgePageUrl(belowChannel(location, channel), channel, { ...options, locLength: options.limits.locLength }),
    }))
    const pages = judged.filter((one) => one.kind === 'page')
    if (pages.length === 0) discovery[reasonOf(judged)]++
    // All of one priority and depth: they stay in the order in which they were given.
    for (const { channel, url } of pages) if (!found.get(channel)!.add(url, 1, 0)) discovery.duplicates++
  }
  return [...found].map(([channel, urls]) => ({ channel, urls }))
}

/** Why a URL is a page of none of the channels: what one of them says of it as its own counts more than that it is foreign to others. */
function reasonOf(judged: readonly Judgement[]): 'malformed' | 'excluded' | 'foreign' {
  return (['excluded', 'malformed'] as const).find((reason) => judged.some(({ kind }) => kind === reason)) ?? 'foreign'
}

async function keepTypes(
  urls: UrlList,
  types: NonNullable<PlanOptions['types']>,
  typeOf: PlanOptions['typeOf'],
  discovery: RunDiscovery,
): Promise<UrlList> {
  const kept = new UrlList()
  let seen = 0
  for (const url of urls) {
    // Each look-up is a read of the index: others get their turn between them.
    if (++seen % 500 === 0) await nextTurn()
    const type = typeOf(url)
    // They come in their order and stay in it.
    if (types.includes(type ?? 'unknown')) kept.add(url, 1, 0)
    else discovery[type === null ? 'unknownType' : 'otherTypes']++
  }
  return kept
}

/** Discovery broke when no file could be read and something went wrong; an empty sitemap is no fault. */
function failureOf({ files, total, errors }: RunDiscovery): string | null {
  const [first] = errors
  if (!first || files > 0 || total > 0) return null
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return `No sitemap could be read: ${first.url} ${first.message}${more}`
}
