import { buildConnector } from 'undici'
import { afterEach, beforeEach } from 'vitest'
import { toChannel } from '../../../src/cache/channel.ts'
import { Channels } from '../../../src/cache/channels.ts'
import { pathBypass } from '../../../src/cache/bypass.ts'
import { marketingParameters } from '../../../src/cache/ignored-parameters.ts'
import { canonicaliser } from '../../../src/cache/target.ts'
import { openSitemapFetch, type SitemapFetch } from '../../../src/warmup/discover/discover-fetch.ts'
import { discoverChannel, type DiscoverOptions, type Discovery } from '../../../src/warmup/discover/discover.ts'
import { defaultLimits } from '../../../src/warmup/discover/limits.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'

export const xmlns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
export let origin: Origin
/** Host and port of each opened socket. */
export let sockets: string[]
let fetch: SitemapFetch

/** Starts an origin for each test of the file that calls it. */
export function useSitemaps(): void {
  beforeEach(async () => {
    origin = await startOrigin()
    sockets = []
    const connect = buildConnector({})
    fetch = openSitemapFetch({
      timeout: 60_000,
      redirects: defaultLimits.redirects,
      retryDelay: 1,
      connect: (options, callback) => {
        sockets.push(`${options.hostname}:${options.port}`)
        connect(options, callback)
      },
    })
  })

  afterEach(async () => {
    await fetch.close()
    await origin.stop()
  })
}

export function urlset(...locs: (string | [loc: string, priority: number])[]): string {
  const entries = locs.map((entry) => {
    const [loc, priority] = typeof entry === 'string' ? [entry, null] : entry
    return `<url><loc>${loc}</loc>${priority === null ? '' : `<priority>${priority}</priority>`}</url>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?><urlset ${xmlns}>${entries.join('\n')}</urlset>`
}

export function index(...locs: string[]): string {
  return `<sitemapindex ${xmlns}>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join('')}</sitemapindex>`
}

export async function discover(
  options: Partial<DiscoverOptions> & { url?: string; siblings?: string[] } = {},
): Promise<Discovery & { list: string[] }> {
  const { url = 'http://shop.example', siblings = [], ...rest } = options
  const [own, ...others] = [url, ...siblings].map((each, number) =>
    toChannel({ id: `channel-${number}`, name: each, url: each, origin: origin.url }),
  )
  const found = await discoverChannel({
    channel: own!,
    channels: new Channels([own!, ...others]),
    sitemaps: ['/sitemap.xml'],
    canonicalise: canonicaliser(marketingParameters),
    isBypassed: pathBypass(['/checkout', '/account', '/admin', '/api']),
    fetch,
    limits: defaultLimits,
    signal: new AbortController().signal,
    ...rest,
  })
  return { ...found, list: [...found.urls] }
}
