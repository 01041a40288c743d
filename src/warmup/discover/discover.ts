import { maskUrls } from '../../lib/mask.ts'
import type { Channel } from '../../cache/channel.ts'
import { isOnOrigin, type SitemapFetch } from './discover-fetch.ts'
import { plainBytes } from './decompress.ts'
import type { DiscoveryLimits } from '../run/limits.ts'
import { belowChannel, judgePageUrl, type PageUrlRules } from './page-url.ts'
import { readSitemap } from './read-sitemap.ts'
import { parseRobots, type Robots } from './robots.ts'
import { SitemapError } from './sitemap-error.ts'
import { UrlList } from './url-list.ts'

export interface DiscoveryCounts {
  /** URLs to warm. */
  total: number
  /** Of another host or channel: no connection was made for them. */
  foreign: number
  /** Unreadable, too long, or with control characters. */
  malformed: number
  /** Never cached, or with a side effect. */
  excluded: number
  /** Forbidden by robots.txt. */
  disallowed: number
  duplicates: number
  /** Sitemap files read to their end. */
  files: number
  errors: { url: string; message: string }[]
}

export interface Discovery extends DiscoveryCounts {
  urls: UrlList
  /** Milliseconds that robots.txt asks for between two requests. */
  crawlDelay: number | null
}

export interface DiscoverOptions extends Pick<PageUrlRules, 'channels' | 'canonicalise' | 'isBypassed'> {
  channel: Channel
  /** Configured sitemaps: URLs, or paths below the channel's URL; none: robots.txt, then /sitemap.xml. */
  sitemaps: readonly string[]
  fetch: SitemapFetch
  limits: DiscoveryLimits
  signal: AbortSignal
  /** URLs of any channel whose pages were purged: they are warmed last, where the sitemaps do not name them. */
  purged?: () => AsyncIterable<string>
  /** Told after each file. */
  onProgress?: (counts: { files: number; urls: number }) => void
}

/**
 * Finds the URLs of one sales channel in its sitemaps. A file that cannot be read costs its own URLs alone and
 * is named in `errors`.
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
const afterAll = -0.01

/** Ends the walk of a channel, with what it has found so far. */
class Enough extends SitemapError {}

class Walk {
  readonly #options: DiscoverOptions
  readonly #urls = new UrlList()
  readonly #pending: Pending[] = []
  readonly #known = new Set<string>()
  readonly #counts: Omit<DiscoveryCounts, 'total'> = {
    foreign: 0,
    malformed: 0,
    excluded: 0,
    disallowed: 0,
    duplicates: 0,
    files: 0,
    errors: [],
  }
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
      // Nothing may be fetched while it is not known what is forbidden (RFC 9309 §2.3.1.4).
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

  /** The configured sitemaps; else those in robots.txt, of this channel where the file tells them apart; else the usual place. */
  #roots(): string[] {
    const { channel, channels, sitemaps } = this.#options
    if (sitemaps.length > 0) return sitemaps.map((location) => belowChannel(location, channel))
    const named = this.#robots.sitemaps.filter((location) => URL.canParse(location, channel.url))
    const own = named.filter((location) => channels.locate(new URL(location, channel.url).href)?.channel === channel)
    if (own.length > 0) return own
    return named.length > 0 ? named : [`${channel.url}/sitemap.xml`]
  }

  /** Another host's sitemap is not fetched: the URL is compared parsed, so its spelling does not matter. */
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
      throw new Enough(`more than ${limits.files} sitemap files; the others are left out`)
    this.#known.add(url.href)
    this.#pending.push({ url, depth })
  }

  /** @returns whether to go on */
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
      if (error instanceof Enough || this.#hostile >= limits.hostileFiles) return false
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
    const judged = judgePageUrl(location, channel, { ...this.#options, locLength: limits.locLength })
    if (judged.kind !== 'page') return void this.#counts[judged.kind]++
    if (!this.#robots.allows(judged.target)) return void this.#counts.disallowed++
    if (this.#urls.size >= limits.urls) throw new Enough(`more than ${limits.urls} URLs; the others are left out`)
    if (!this.#urls.add(judged.url, priority, judged.depth)) this.#counts.duplicates++
  }

  /** Most of them are in the sitemaps, or of other channels: that is worth no count. */
  #addPurged(location: string): void {
    const { channel, limits } = this.#options
    const judged = judgePageUrl(location, channel, { ...this.#options, locLength: limits.locLength })
    if (judged.kind !== 'page' || !this.#robots.allows(judged.target) || this.#urls.size >= limits.urls) return
    this.#urls.add(judged.url, afterAll, judged.depth)
  }

  #countEntry(): void {
    if (++this.#entries > this.#options.limits.entries)
      throw new Enough(`more than ${this.#options.limits.entries} entries; the others are left out`)
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
