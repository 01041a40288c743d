import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { PageType } from '../../pages/page.ts'
import type { Channel } from '../../cache/channel.ts'
import type { Channels } from '../../cache/channels.ts'
import { discoverChannel, noUrls, type DiscoverOptions, type DiscoveryCounts } from './discover.ts'
import { belowChannel, classifyPageUrl, type PageUrlClass } from './page-url.ts'
import { UrlList } from './url-list.ts'

/** Channels discovered concurrently: each has its own files, and a slow shop must not delay the others. */
const channelsAtOnce = 4

interface PlannedChannel {
  channel: Channel
  sitemaps: readonly string[]
}

/** What discovery found over all channels of a run; stored with the run. */
export interface RunDiscovery extends DiscoveryCounts {
  /** Pages of a type that was not requested, according to the cache or a path rule. */
  otherTypes: number
  /** Skipped because their type is known only once they are fetched. */
  unknownType: number
  /** Pages without a requested tag, according to the cache. */
  otherTags: number
  /** Milliseconds between two requests, by the id of the channel whose robots.txt sets them. */
  crawlDelays: Record<string, number>
}

export interface Plan {
  discovery: RunDiscovery
  lists: { channelId: string; origin: string; urls: Iterable<string> }[]
  /** Channels whose sitemaps list URLs but no page to warm: how many URLs are foreign, and how many were skipped for other reasons. */
  emptyChannels: { channel: Channel; foreign: number; others: number }[]
  /** Why discovery failed; null if it found pages or there were none to find. */
  failure: string | null
}

export interface PlanOptions extends Pick<
  DiscoverOptions,
  'canonicalise' | 'isBypassed' | 'fetch' | 'limits' | 'signal' | 'purged'
> {
  channels: Channels
  /** The channels to warm. */
  chosen: readonly PlannedChannel[]
  /** Replaces the sitemaps. Paths are resolved below each chosen channel. */
  urls: Iterable<string> | null
  /** Only pages of these types; `unknown`: pages whose type is known only once they are fetched. Null: all types. */
  types: readonly (PageType | 'unknown')[] | null
  /** The type of a URL according to the cache or a path rule; null if neither knows. */
  typeOf: (url: string) => PageType | null
  /** Whether the cache has a page of the URL with a requested tag; null: pages with any tags. */
  hasTag: ((url: string) => boolean) | null
  /** The hits of each URL: the most popular pages of a channel come first. Null: the order of priorities. */
  hitsOf: ((urls: readonly string[]) => number[]) | null
  onProgress: (counts: { files: number; urls: number }) => void
}

/** Finds the URLs that a run has to warm. */
export async function planRun(options: PlanOptions): Promise<Plan> {
  const discovery: RunDiscovery = {
    ...noUrls(),
    otherTypes: 0,
    unknownType: 0,
    otherTags: 0,
    crawlDelays: {},
  }
  const emptyChannels: Plan['emptyChannels'] = []
  const found = options.urls
    ? classifyGiven(options, options.urls, discovery)
    : await discoverAll(options, discovery, emptyChannels)
  const lists: Plan['lists'] = []
  for (const { channel, urls } of found) {
    const kept = options.types || options.hasTag ? await keepWanted(urls, options, discovery) : urls
    const ordered = options.hitsOf === null ? kept : await orderByHits(kept, options.hitsOf)
    discovery.total += ordered.size
    lists.push({ channelId: channel.id, origin: channel.origin, urls: ordered.seal() })
  }
  return { discovery, lists, emptyChannels, failure: failureOf(discovery) }
}

interface Found {
  channel: Channel
  urls: UrlList
}

/** Discovers several channels concurrently; the results are in the order of the channels. */
async function discoverAll(
  options: PlanOptions,
  discovery: RunDiscovery,
  emptyChannels: Plan['emptyChannels'],
): Promise<Found[]> {
  const { chosen, onProgress } = options
  const progress = chosen.map(() => ({ files: 0, urls: 0 }))
  const discovered = await pLimit(channelsAtOnce).map(chosen, ({ channel, sitemaps }, index) =>
    discoverChannel({
      ...options,
      channel,
      sitemaps,
      onProgress: (counts) => {
        progress[index] = counts
        onProgress({ files: sum(progress, 'files'), urls: sum(progress, 'urls') })
      },
    }),
  )
  return discovered.map(({ urls, crawlDelay, total, errors, ...counts }, index) => {
    const { channel } = chosen[index]!
    for (const key of ['foreign', 'malformed', 'excluded', 'disallowed', 'duplicates', 'files'] as const)
      discovery[key] += counts[key]
    discovery.errors.push(...errors)
    const others = counts.malformed + counts.excluded + counts.disallowed
    if (total === 0 && counts.foreign + others > 0) emptyChannels.push({ channel, foreign: counts.foreign, others })
    if (crawlDelay !== null) discovery.crawlDelays[channel.id] = crawlDelay
    return { channel, urls }
  })
}

function sum<Key extends string>(counts: readonly Record<Key, number>[], key: Key): number {
  return counts.reduce((total, each) => total + each[key], 0)
}

/** Classifies URLs that an operator named, by the rules for sitemaps except robots.txt. */
function classifyGiven(options: PlanOptions, given: Iterable<string>, discovery: RunDiscovery): Found[] {
  const found = new Map(options.chosen.map(({ channel }) => [channel, new UrlList()]))
  for (const location of given) {
    const classified = options.chosen.map(({ channel }) => ({
      channel,
      ...classifyPageUrl(belowChannel(location, channel), channel, { ...options, locLength: options.limits.locLength }),
    }))
    const pages = classified.filter((one) => one.kind === 'page')
    if (pages.length === 0) discovery[reasonOf(classified)]++
    // One priority and depth for all keeps the given order.
    for (const { channel, url } of pages) if (!found.get(channel)!.add(url, 1, 0)) discovery.duplicates++
  }
  return [...found].map(([channel, urls]) => ({ channel, urls }))
}

/** Why a URL is a page of no channel. A reason given by its own channel outranks being foreign to the others. */
function reasonOf(classified: readonly PageUrlClass[]): 'malformed' | 'excluded' | 'foreign' {
  return (
    (['excluded', 'malformed'] as const).find((reason) => classified.some(({ kind }) => kind === reason)) ?? 'foreign'
  )
}

/** The URLs of the requested types and tags, in the same order. */
async function keepWanted(
  urls: UrlList,
  { types, typeOf, hasTag }: Pick<PlanOptions, 'types' | 'typeOf' | 'hasTag'>,
  discovery: RunDiscovery,
): Promise<UrlList> {
  const kept = new UrlList()
  let seen = 0
  for (const url of urls) {
    // Each look-up reads the page index: yield to other work in between.
    if (++seen % 500 === 0) await nextTurn()
    const type = types === null ? null : typeOf(url)
    if (types !== null && !types.includes(type ?? 'unknown')) discovery[type === null ? 'unknownType' : 'otherTypes']++
    else if (hasTag?.(url) === false) discovery.otherTags++
    else kept.addRanked(url, 0)
  }
  return kept
}

/** URLs whose hits are looked up together: a few milliseconds. */
const hitsAtOnce = 500

/** Sorts URLs by hits. Those with equal hits, such as pages that are not cached, keep their order. */
async function orderByHits(urls: UrlList, hitsOf: NonNullable<PlanOptions['hitsOf']>): Promise<UrlList> {
  const ordered = new UrlList()
  const add = (batch: readonly string[]) => {
    const hits = hitsOf(batch)
    for (const [index, url] of batch.entries()) ordered.addRanked(url, -hits[index]!)
  }
  let batch: string[] = []
  for (const url of urls) {
    if (batch.push(url) < hitsAtOnce) continue
    add(batch)
    batch = []
    await nextTurn()
  }
  add(batch)
  return ordered
}

/** Discovery failed if there were errors and no file could be read. An empty sitemap is not a failure. */
function failureOf({ files, total, errors }: RunDiscovery): string | null {
  const [first] = errors
  if (!first || files > 0 || total > 0) return null
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return `No sitemap could be read: ${first.url} ${first.message}${more}`
}
