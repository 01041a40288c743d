import { expect, it } from 'vitest'
import type { PageType } from '../../../src/pages/page.ts'
import { toChannel } from '../../../src/cache/channel.ts'
import { Channels } from '../../../src/cache/channels.ts'
import { canonicaliser } from '../../../src/cache/target.ts'
import type { SitemapFetch } from '../../../src/warmup/discover/discover-fetch.ts'
import { defaultLimits } from '../../../src/warmup/discover/limits.ts'
import { planRun, type Plan, type PlanOptions } from '../../../src/warmup/discover/plan.ts'

const [en, de] = ['http://shop.example', 'http://shop.example/de'].map((url, number) =>
  toChannel({ id: `c${number}`, name: url, url, origin: 'http://127.0.0.1:1' }),
)

/** A shop with the given files by public URL; anything else is a 404. */
function plan(files: Record<string, string>, options: Partial<PlanOptions> = {}) {
  const asked: string[] = []
  const fetch: SitemapFetch = {
    get: async (_, url) => {
      asked.push(url.href)
      const text = files[url.href]
      return {
        status: text === undefined ? 404 : 200,
        body: (async function* () {
          yield Buffer.from(text ?? '')
        })(),
      }
    },
    close: async () => {},
  }
  const planned = planRun({
    channels: new Channels([en!, de!]),
    chosen: [en!, de!].map((channel) => ({ channel, sitemaps: [] })),
    canonicalise: canonicaliser([]),
    isBypassed: (path) => path.startsWith('/checkout'),
    fetch,
    limits: defaultLimits,
    signal: new AbortController().signal,
    urls: null,
    types: null,
    typeOf: () => null,
    hasTag: null,
    hitsOf: null,
    onProgress: () => {},
    ...options,
  })
  return planned.then((result) => ({ ...result, asked }))
}

const listed = ({ lists }: Plan) => lists.map(({ channelId, urls }) => ({ channelId, urls: [...urls] }))

const urlset = (...locs: string[]) => `<urlset>${locs.map((loc) => `<url><loc>${loc}</loc></url>`).join('')}</urlset>`

it('each channel gets its own URLs and the crawl delay of its robots.txt', async () => {
  const all = urlset('http://shop.example/a', 'http://shop.example/de/a')
  const progress: object[] = []
  const result = await plan(
    {
      'http://shop.example/robots.txt': 'User-agent: *\nCrawl-delay: 3',
      'http://shop.example/sitemap.xml': all,
      'http://shop.example/de/sitemap.xml': all,
    },
    { onProgress: (counts) => progress.push(counts) },
  )
  expect(listed(result)).toEqual([
    { channelId: 'c0', urls: ['http://shop.example/a'] },
    { channelId: 'c1', urls: ['http://shop.example/de/a'] },
  ])
  expect(result.discovery).toMatchObject({ total: 2, foreign: 2, files: 2, crawlDelays: { c0: 3000, c1: 3000 } })
  expect(progress.at(-1)).toEqual({ files: 2, urls: 2 })
})

it('discovery fails only if no file could be read', async () => {
  expect((await plan({})).failure).toBe(
    'No sitemap could be read: http://shop.example/sitemap.xml answered 404 (and 1 more)',
  )
  expect(await plan({ 'http://shop.example/sitemap.xml': urlset() })).toMatchObject({
    failure: null,
    discovery: { total: 0, files: 1 },
  })
  expect(await plan({}, { chosen: [] })).toMatchObject({ failure: null, discovery: { total: 0 } })
})

it('reports channels whose sitemaps list no page to warm, but not those with an empty sitemap', async () => {
  const result = await plan({
    'http://shop.example/sitemap.xml': urlset(
      'http://www.shop.example/a',
      'http://www.shop.example/b',
      'http://shop.example/checkout/x',
    ),
    'http://shop.example/de/sitemap.xml': urlset(),
  })
  expect(result).toMatchObject({ failure: null, discovery: { total: 0, foreign: 2, excluded: 1 } })
  expect(result.emptyChannels).toEqual([{ channel: en, foreign: 2, others: 1 }])
})

it('classifies named URLs by the same rules, in their order, without reading sitemaps', async () => {
  const result = await plan(
    {},
    {
      urls: [
        'http://shop.example/z',
        'http://shop.example/a/b',
        '/both',
        '/checkout/x',
        '//evil.example/',
        'http://evil.example/',
        'http://shop.example/z',
        'http://[',
      ],
    },
  )
  expect(listed(result)).toEqual([
    { channelId: 'c0', urls: ['http://shop.example/z', 'http://shop.example/a/b', 'http://shop.example/both'] },
    { channelId: 'c1', urls: ['http://shop.example/de/both'] },
  ])
  expect(result.discovery).toMatchObject({ total: 4, foreign: 2, excluded: 1, malformed: 1, duplicates: 1 })
  expect(result.asked).toEqual([])
})

it('resolves a path below each channel unless it starts with the path of the channel', async () => {
  const result = await plan({}, { urls: ['/de/a', '/dex', '/de', '/de?p=1', '/x'] })
  expect(listed(result)).toEqual([
    { channelId: 'c0', urls: ['http://shop.example/dex', 'http://shop.example/x'] },
    {
      channelId: 'c1',
      urls: [
        'http://shop.example/de/a',
        'http://shop.example/de/dex',
        'http://shop.example/de',
        'http://shop.example/de?p=1',
        'http://shop.example/de/x',
      ],
    },
  ])
})

it('keeps only pages of the requested types, and unknown types only with "unknown"', async () => {
  const types: Record<string, PageType> = { 'http://shop.example/p': 'products', 'http://shop.example/c': 'cms' }
  const result = await plan(
    {
      'http://shop.example/sitemap.xml': urlset(
        'http://shop.example/p',
        'http://shop.example/c',
        'http://shop.example/unknown',
      ),
    },
    { types: ['products'], typeOf: (url) => types[url] ?? null },
  )
  expect([...result.lists[0]!.urls]).toEqual(['http://shop.example/p'])
  expect(result.discovery).toMatchObject({ total: 1, otherTypes: 1, unknownType: 1 })
  const unknown = await plan(
    { 'http://shop.example/sitemap.xml': urlset('http://shop.example/p', 'http://shop.example/unknown') },
    { types: ['unknown'], typeOf: (url) => types[url] ?? null },
  )
  expect([...unknown.lists[0]!.urls]).toEqual(['http://shop.example/unknown'])
  expect(unknown.discovery).toMatchObject({ total: 1, otherTypes: 1, unknownType: 0 })
})

it('with hits, the most visited pages of each channel come first; the others keep the order of their priority', async () => {
  const hits: Record<string, number> = { 'http://shop.example/c': 3, 'http://shop.example/e': 12 }
  const files = {
    'http://shop.example/sitemap.xml': `<urlset>${['a', 'b', 'c', 'd', 'e']
      .map(
        (name, index) =>
          `<url><loc>http://shop.example/${name}</loc><priority>${(index / 10).toFixed(1)}</priority></url>`,
      )
      .join('')}</urlset>`,
  }
  const names = async (options: Partial<PlanOptions>) =>
    [...(await plan(files, options)).lists[0]!.urls].map((url) => url.at(-1))
  expect(await names({})).toEqual(['e', 'd', 'c', 'b', 'a'])
  expect(await names({ hitsOf: (urls) => urls.map((url) => hits[url] ?? 0) })).toEqual(['e', 'c', 'd', 'b', 'a'])
})

it('given URLs without a requested tag are left out and counted', async () => {
  const urls = ['http://shop.example/a', 'http://shop.example/b', '/c']
  const result = await plan(
    {},
    { urls, types: ['products'], typeOf: () => 'products', hasTag: (url) => !url.endsWith('b') },
  )
  expect(listed(result).map((list) => list.urls)).toEqual([
    ['http://shop.example/a', 'http://shop.example/c'],
    ['http://shop.example/de/c'],
  ])
  expect(result.discovery).toMatchObject({ total: 3, otherTypes: 0, otherTags: 1 })
})
