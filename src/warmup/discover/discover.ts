import { maskUrls } from '../../lib/safe-text.ts'
import type { Channel } from '../../cache/channel.ts'
import { isOnOrigin, type SitemapFetch } from './discover-fetch.ts'
import { plainBytes } from './decompress.ts'
import type { DiscoveryLimits } from './limits.ts'
import { belowChannel, classifyPageUrl, type PageUrlRules } from './page-url.ts'
import { readSitemap } from './read-sitemap.ts'
import { parseRobots, type Robots } from './robots.ts'
import { SitemapError } from './sitemap-error.ts'
import { UrlList } from './url-list.ts'

export interface DiscoveryCounts {
  /** URLs to warm. */
  total: number
  /** URLs of other hosts or channels; never fetched. */
  foreign: number
  /** Unparsable, too long, or with control characters. */
  malformed: number
  /** Bypassed by the cache, or likely to have a side effect. */
  excluded: number
  /** Forbidden by robots.txt. */
  disallowed: number
  duplicates: number
  /** Sitemap files read completely. */
  files: number
  errors: { url: string; message: string }[]
}

/** The counts before a URL is found. */
export function noUrls(): DiscoveryCounts {
  return { total: 0, foreign: 0, malformed: 0, excluded: 0, disallowed: 0, duplicates: 0, files: 0, errors: [] }
}

export interface Discovery extends DiscoveryCounts {
  urls: UrlList
  /** Milliseconds between two requests, from robots.txt; null if it sets none. */
  crawlDelay: number | null
}

export interface DiscoverOptions extends Pick<PageUrlRules, 'channels' | 'canonicalise' | 'isBypassed'> {
  channel: Channel
  /** Configured sitemaps: URLs, or paths below the channel's URL. Empty: the ones in robots.txt, else /sitemap.xml. */
  sitemaps: readonly string[]
  fetch: SitemapFetch
  limits: DiscoveryLimits
  signal: AbortSignal
  /** URLs of purged pages, of any channel. Those that no sitemap lists are warmed last. */
  purged?: () => AsyncIterable<string>
  /** Called after each file. */
  onProgress?: (counts: { files: number; urls: number }) => void
}

/**
 * Finds the URLs of one sales channel in its sitemaps. A file that cannot be read loses only its own URLs and is listed in
 * `errors`.
 *
 * @throws the signal's reason when it is aborted
 */
export async function discoverChannel(options: DiscoverOptions): Promise<Discovery> {
  const walk = new Walk(options)
  await walk.run()
  return walk.result()
}

interface Pending {
  url: URL
  depth: number
}

/** Lower than any priority of a sitemap. */
const lowestPriority = -0.01

/** Ends the discovery of a channel; what was found so far is kept. */
class LimitReached extends SitemapError {}

class Walk {
  readonly #options: DiscoverOptions
  readonly #urls = new UrlList()
  readonly #pending: Pending[] = []
  readonly #known = new Set<string>()
  readonly #counts = noUrls()
  #robots: Robots = parseRobots('')
  #entries = 0
  #hostile = 0

  constructor(options: DiscoverOptions) {
    this.#options = options
  }

  result(): Discovery {
    return { ...this.#counts, total: this.#urls.size, urls: this.#urls, crawlDelay: this.#robots.crawlDelay }
  }

  async run(): Promise<void> {
    const { channel } = this.#options
    const robotsUrl = new URL('/robots.txt', channel.url)
    try {
      this.#robots = await this.#readRobots(robotsUrl)
    } catch (error) {
      // An unreachable robots.txt counts as "disallow all" (RFC 9309 §2.3.1.4).
      this.#record(robotsUrl.href, error)
      return
    }
    for (const url of this.#roots()) this.#enqueue(url, 0)
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      if (!(await this.#visit(next))) break
    }
    for await (const url of this.#options.purged?.() ?? []) this.#addPurged(url)
  }

  async #readRobots(url: URL): Promise<Robots> {
    const { channel, fetch, limits, signal } = this.#options
    const response = await fetch.get(channel, url, signal)
    if (response.status >= 500 || response.status === 429) throw new SitemapError(`answered ${response.status}`)
    if (response.status !== 200) return parseRobots('')
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response.body) {
      chunks.push(chunk)
      if ((size += chunk.length) > limits.robotsBytes) break
    }
    return parseRobots(Buffer.concat(chunks).subarray(0, limits.robotsBytes).toString())
  }

  /** The configured sitemaps, else the ones in robots.txt (only this channel's, if any are), else /sitemap.xml. */
  #roots(): string[] {
    const { channel, channels, sitemaps } = this.#options
    if (sitemaps.length > 0) return sitemaps.map((location) => belowChannel(location, channel))
    const listed = this.#robots.sitemaps.filter((location) => URL.canParse(location, channel.url))
    const own = listed.filter((location) => channels.locate(new URL(location, channel.url).href)?.channel === channel)
    if (own.length > 0) return own
    return listed.length > 0 ? listed : [`${channel.url}/sitemap.xml`]
  }

  /** Sitemaps of other hosts are never fetched. The parsed URL is compared, so that its spelling does not matter. */
  #enqueue(location: string, depth: number): void {
    const { channel, limits } = this.#options
    if (location.length > limits.locLength || !URL.canParse(location, channel.url)) return void this.#counts.malformed++
    const url = new URL(location, channel.url)
    if (!isOnOrigin(url, channel)) return void this.#counts.foreign++
    url.hash = ''
    if (this.#known.has(url.href)) return
    if (depth > limits.indexDepth)
      throw new SitemapError(`lists indexes more than ${limits.indexDepth} deep`, { hostile: true })
    if (this.#known.size >= limits.files)
      throw new LimitReached(`more than ${limits.files} sitemap files; the rest are skipped`)
    this.#known.add(url.href)
    this.#pending.push({ url, depth })
  }

  /** @returns whether to continue with the next file */
  async #visit({ url, depth }: Pending): Promise<boolean> {
    const { channel, fetch, limits, signal, onProgress } = this.#options
    try {
      const { status, body } = await fetch.get(channel, url, signal)
      if (status !== 200) throw new SitemapError(`answered ${status}`)
      const listener = {
        onPage: (loc: string, priority: number) => this.#addPage(loc, priority),
        onSitemap: (loc: string) => this.#addSitemap(loc, depth + 1),
      }
      await readSitemap(plainBytes(body, limits), listener, limits)
      this.#counts.files++
    } catch (error) {
      this.#record(url.href, error)
      if (error instanceof LimitReached || this.#hostile >= limits.hostileFiles) return false
    }
    onProgress?.({ files: this.#counts.files, urls: this.#urls.size })
    return true
  }

  #addSitemap(location: string, depth: number): void {
    this.#countEntry()
    this.#enqueue(location, depth)
  }

  #addPage(location: string, priority: number): void {
    this.#countEntry()
    const { channel, limits } = this.#options
    const classified = classifyPageUrl(location, channel, { ...this.#options, locLength: limits.locLength })
    if (classified.kind !== 'page') return void this.#counts[classified.kind]++
    if (!this.#robots.allows(classified.target)) return void this.#counts.disallowed++
    if (this.#urls.size >= limits.urls) throw new LimitReached(`more than ${limits.urls} URLs; the rest are skipped`)
    if (!this.#urls.add(classified.url, priority, classified.depth)) this.#counts.duplicates++
  }

  /** Not counted: most purged URLs are in the sitemaps already, or belong to other channels. */
  #addPurged(location: string): void {
    const { channel, limits } = this.#options
    const classified = classifyPageUrl(location, channel, { ...this.#options, locLength: limits.locLength })
    if (classified.kind !== 'page' || !this.#robots.allows(classified.target) || this.#urls.size >= limits.urls) return
    this.#urls.add(classified.url, lowestPriority, classified.depth)
  }

  #countEntry(): void {
    if (++this.#entries > this.#options.limits.entries)
      throw new LimitReached(`more than ${this.#options.limits.entries} entries; the rest are skipped`)
  }

  #record(url: string, error: unknown): void {
    const { limits, signal } = this.#options
    signal.throwIfAborted()
    if (error instanceof SitemapError && error.hostile) this.#hostile++
    const message = error instanceof Error ? error.message : String(error)
    if (this.#counts.errors.length < limits.errors)
      this.#counts.errors.push({ url: maskUrls(url), message: maskUrls(message).slice(0, 300) })
  }
}
