import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { discover, index, origin, sockets, urlset, useSitemaps } from './sitemaps.ts'

useSitemaps()

describe('sitemap files', () => {
  it('reads an index with unannounced gzip children from the origin with the public Host', async () => {
    const child = '/sitemap/salesChannel-1-2/1-2-sitemap-shop-example-1.xml.gz'
    origin.on('/sitemap.xml', {
      headers: { 'content-type': 'text/xml; charset=utf-8' },
      body: index(`http://shop.example${child}`),
    })
    origin.on(child, {
      headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
      body: gzipSync(urlset('http://shop.example/', 'http://shop.example/a?p=2&amp;o=1')),
    })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/', 'http://shop.example/a?o=1&p=2'])
    expect(found).toMatchObject({ total: 2, files: 2, foreign: 0, malformed: 0, excluded: 0, errors: [] })
    expect(origin.last(child).headers['host']).toBe('shop.example')
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  it('sorts by priority, path depth and file order, without duplicates', async () => {
    const shop = 'http://shop.example'
    origin.on('/sitemap.xml', {
      body: urlset(
        `${shop}/a/b`,
        [`${shop}/late`, 0.1],
        `${shop}/b`,
        [`${shop}/a/b/c`, 1],
        `${shop}/a`,
        `${shop}/a/b`,
        `${shop}/b?utm_source=x`,
        [shop, 1],
      ),
    })
    const found = await discover()
    expect(found.list).toEqual(['/', '/a/b/c', '/b', '/a', '/a/b', '/late'].map((path) => shop + path))
    expect(found.duplicates).toBe(2)
  })

  it('ignores image locations and understands namespaces, whitespace and CDATA', async () => {
    origin.on('/sitemap.xml', {
      body: `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i"><s:url>
        <s:loc>
          <![CDATA[http://shop.example/a?x=1&y=2]]>
        </s:loc><image:image><image:loc>http://shop.example/a.png</image:loc></image:image></s:url></s:urlset>`,
    })
    expect((await discover()).list).toEqual(['http://shop.example/a?x=1&y=2'])
  })

  it('reads doubly compressed and announced gzip', async () => {
    origin.on('/sitemap.xml', {
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(gzipSync(urlset('http://shop.example/a'))),
    })
    expect((await discover()).list).toEqual(['http://shop.example/a'])
  })

  it('a missing file loses only its own URLs', async () => {
    origin.on('/sitemap.xml', {
      body: index('http://shop.example/1.xml', 'http://shop.example/2.xml', 'http://shop.example/3.xml'),
    })
    origin.on('/1.xml', { status: 204 })
    origin.on('/2.xml', { body: urlset('http://shop.example/a') })
    origin.on('/3.xml', { body: gzipSync(urlset('http://shop.example/b')).subarray(0, 60) })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/a'])
    expect(found.errors.map((error) => error.url)).toEqual(['http://shop.example/1.xml', 'http://shop.example/3.xml'])
    expect(found.errors[0]!.message).toBe('answered 204')
  })

  it('retries a busy origin', async () => {
    let asked = 0
    origin.on('/sitemap.xml', () =>
      ++asked < 3 ? { status: 503, headers: { 'retry-after': '0' } } : { body: urlset('http://shop.example/a') },
    )
    expect((await discover()).total).toBe(1)
  })

  it('reads 200,000 URLs in gzip files of 50,000', async () => {
    const file = (number: number) =>
      gzipSync(urlset(...Array.from({ length: 50_000 }, (_, i) => `http://shop.example/p/${number}/${i}`)))
    origin.on('/sitemap.xml', { body: index(...[1, 2, 3, 4].map((number) => `http://shop.example/${number}.xml.gz`)) })
    for (const number of [1, 2, 3, 4]) origin.on(`/${number}.xml.gz`, { body: file(number) })
    const progress: number[] = []
    const found = await discover({ onProgress: ({ urls }) => progress.push(urls) })
    expect(found).toMatchObject({ total: 200_000, files: 5, duplicates: 0 })
    expect(progress).toEqual([0, 50_000, 100_000, 150_000, 200_000])
  })

  it('stops when its signal is aborted', async () => {
    const stop = new AbortController()
    origin.on('/sitemap.xml', () => stop.abort(new Error('enough')))
    await expect(discover({ signal: stop.signal })).rejects.toThrow('enough')
  })
})

describe('sitemap location', () => {
  it('resolves a configured path below the channel unless it starts with the path of the channel', async () => {
    origin.on('/de/sitemap.xml', { body: urlset('http://shop.example/de/a') })
    origin.on('/de/other.xml', { body: urlset('http://shop.example/de/b') })
    const found = await discover({
      url: 'http://shop.example/de',
      sitemaps: ['/sitemap.xml', '/de/other.xml', 'http://shop.example/de/sitemap.xml'],
    })
    expect(found.list).toEqual(['http://shop.example/de/a', 'http://shop.example/de/b'])
  })

  it('defaults to the sitemaps of this channel in robots.txt', async () => {
    origin.on('/robots.txt', {
      body: 'Sitemap: http://shop.example/sitemap.xml\nsitemap:http://shop.example/de/map.xml\r\nSitemap: http://evil.example/sitemap.xml',
    })
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a') })
    origin.on('/de/map.xml', { body: urlset('http://shop.example/de/a') })
    const found = await discover({ url: 'http://shop.example/de', siblings: ['http://shop.example'], sitemaps: [] })
    expect(found.list).toEqual(['http://shop.example/de/a'])
    expect(origin.hits('/sitemap.xml')).toBe(0)
  })

  it('defaults to /sitemap.xml if robots.txt lists none', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a') })
    expect((await discover({ sitemaps: [] })).list).toEqual(['http://shop.example/a'])
  })

  it('reports an error if there is no sitemap', async () => {
    expect(await discover({ sitemaps: [] })).toMatchObject({
      total: 0,
      files: 0,
      errors: [{ url: 'http://shop.example/sitemap.xml', message: 'answered 404' }],
    })
  })
})

describe('robots.txt', () => {
  it('disallowed URLs are skipped and counted, and its crawl delay is returned', async () => {
    origin.on('/robots.txt', { body: 'User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\n' })
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a', 'http://shop.example/private/b') })
    expect(await discover()).toMatchObject({ total: 1, disallowed: 1, crawlDelay: 2500 })
  })

  it('nothing is fetched while it cannot be read', async () => {
    origin.on('/robots.txt', { status: 500 })
    const found = await discover()
    expect(found).toMatchObject({
      total: 0,
      errors: [{ url: 'http://shop.example/robots.txt', message: 'answered 500' }],
    })
    expect(origin.hits('/sitemap.xml')).toBe(0)
  })

  it('an unreachable origin is reported', async () => {
    await origin.stop()
    const found = await discover()
    expect(found.errors[0]!.message).toContain(`127.0.0.1:${origin.port}`)
  })
})
