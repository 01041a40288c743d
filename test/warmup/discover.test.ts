import { randomBytes } from 'node:crypto'
import { createGzip, gzipSync } from 'node:zlib'
import { Readable } from 'node:stream'
import { buildConnector } from 'undici'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Channels, toChannel } from '../../src/proxy/channel.ts'
import { pathBypass } from '../../src/proxy/bypass.ts'
import { canonicaliser, marketingParameters } from '../../src/proxy/target.ts'
import { openSitemapFetch, type SitemapFetch } from '../../src/warmup/discover-fetch.ts'
import { discoverChannel, type DiscoverOptions, type Discovery } from '../../src/warmup/discover.ts'
import { defaultLimits } from '../../src/warmup/limits.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'

const xmlns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
let origin: Origin
let fetch: SitemapFetch
let sockets: string[]

beforeEach(async () => {
  origin = await startOrigin()
  sockets = []
  const connect = buildConnector({})
  fetch = openSitemapFetch({
    timeout: 5_000,
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

function urlset(...locs: (string | [loc: string, priority: number])[]): string {
  const entries = locs.map((entry) => {
    const [loc, priority] = typeof entry === 'string' ? [entry, null] : entry
    return `<url><loc>${loc}</loc>${priority === null ? '' : `<priority>${priority}</priority>`}</url>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?><urlset ${xmlns}>${entries.join('\n')}</urlset>`
}

function index(...locs: string[]): string {
  return `<sitemapindex ${xmlns}>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join('')}</sitemapindex>`
}

async function discover(options: Partial<DiscoverOptions> & { url?: string; siblings?: string[] } = {}): Promise<Discovery & { list: string[] }> {
  const { url = 'http://shop.example', siblings = [], ...rest } = options
  const [own, ...others] = [url, ...siblings].map((each, number) => toChannel({ id: `channel-${number}`, name: each, url: each, origin: origin.url }))
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

describe('reading', () => {
  test('an index with gzip children that say nothing of it, asked at the origin with the public Host', async () => {
    const child = '/sitemap/salesChannel-1-2/1-2-sitemap-shop-example-1.xml.gz'
    origin.on('/sitemap.xml', { headers: { 'content-type': 'text/xml; charset=utf-8' }, body: index(`http://shop.example${child}`) })
    origin.on(child, {
      headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
      body: gzipSync(urlset('http://shop.example/', 'http://shop.example/a?p=2&amp;o=1')),
    })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/', 'http://shop.example/a?o=1&p=2'])
    expect(found).toMatchObject({ total: 2, files: 2, foreign: 0, refused: 0, errors: [] })
    expect(origin.last(child).headers['host']).toBe('shop.example')
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  test('higher priority first, then the shorter path, then the order of the file; each URL once', async () => {
    const shop = 'http://shop.example'
    origin.on('/sitemap.xml', {
      body: urlset(`${shop}/a/b`, [`${shop}/late`, 0.1], `${shop}/b`, [`${shop}/a/b/c`, 1], `${shop}/a`, `${shop}/a/b`, `${shop}/b?utm_source=x`, [shop, 1]),
    })
    const found = await discover()
    expect(found.list).toEqual(['/', '/a/b/c', '/b', '/a', '/a/b', '/late'].map((path) => shop + path))
    expect(found.duplicates).toBe(2)
  })

  test('locations of images, other namespaces, blanks and CDATA', async () => {
    origin.on('/sitemap.xml', {
      body: `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i"><s:url>
        <s:loc>
          <![CDATA[http://shop.example/a?x=1&y=2]]>
        </s:loc><image:image><image:loc>http://shop.example/a.png</image:loc></image:image></s:url></s:urlset>`,
    })
    expect((await discover()).list).toEqual(['http://shop.example/a?x=1&y=2'])
  })

  test('gzip within gzip, and gzip that is announced as well', async () => {
    origin.on('/sitemap.xml', { headers: { 'content-encoding': 'gzip' }, body: gzipSync(gzipSync(urlset('http://shop.example/a'))) })
    expect((await discover()).list).toEqual(['http://shop.example/a'])
  })

  test('a file that is missing costs its own URLs alone', async () => {
    origin.on('/sitemap.xml', { body: index('http://shop.example/1.xml', 'http://shop.example/2.xml', 'http://shop.example/3.xml') })
    origin.on('/1.xml', { status: 204 })
    origin.on('/2.xml', { body: urlset('http://shop.example/a') })
    origin.on('/3.xml', { body: gzipSync(urlset('http://shop.example/b')).subarray(0, 60) })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/a'])
    expect(found.errors.map((error) => error.url)).toEqual(['http://shop.example/1.xml', 'http://shop.example/3.xml'])
    expect(found.errors[0]!.message).toBe('answered 204')
  })

  test('an origin that is busy for a moment is asked again', async () => {
    let asked = 0
    origin.on('/sitemap.xml', () => (++asked < 3 ? { status: 503, headers: { 'retry-after': '0' } } : { body: urlset('http://shop.example/a') }))
    expect((await discover()).total).toBe(1)
  })

  test('200,000 URLs in gzip files of 50,000', async () => {
    const file = (number: number) => gzipSync(urlset(...Array.from({ length: 50_000 }, (_, i) => `http://shop.example/p/${number}/${i}`)))
    origin.on('/sitemap.xml', { body: index(...[1, 2, 3, 4].map((number) => `http://shop.example/${number}.xml.gz`)) })
    for (const number of [1, 2, 3, 4]) origin.on(`/${number}.xml.gz`, { body: file(number) })
    const progress: number[] = []
    const found = await discover({ onProgress: ({ urls }) => progress.push(urls) })
    expect(found).toMatchObject({ total: 200_000, files: 5, duplicates: 0 })
    expect(progress).toEqual([0, 50_000, 100_000, 150_000, 200_000])
  })

  test('is stopped by its signal', async () => {
    const stop = new AbortController()
    origin.on('/sitemap.xml', () => stop.abort(new Error('enough')))
    await expect(discover({ signal: stop.signal })).rejects.toThrow('enough')
  })
})

describe('where the sitemaps are', () => {
  test('a configured path is meant below the channel, unless it has its path already', async () => {
    origin.on('/de/sitemap.xml', { body: urlset('http://shop.example/de/a') })
    origin.on('/de/other.xml', { body: urlset('http://shop.example/de/b') })
    const found = await discover({ url: 'http://shop.example/de', sitemaps: ['/sitemap.xml', '/de/other.xml', 'http://shop.example/de/sitemap.xml'] })
    expect(found.list).toEqual(['http://shop.example/de/a', 'http://shop.example/de/b'])
  })

  test('where none is configured: those of robots.txt that are of this channel', async () => {
    origin.on('/robots.txt', { body: 'Sitemap: http://shop.example/sitemap.xml\nsitemap:http://shop.example/de/map.xml\r\nSitemap: http://evil.example/sitemap.xml' })
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a') })
    origin.on('/de/map.xml', { body: urlset('http://shop.example/de/a') })
    const found = await discover({ url: 'http://shop.example/de', siblings: ['http://shop.example'], sitemaps: [] })
    expect(found.list).toEqual(['http://shop.example/de/a'])
    expect(origin.hits('/sitemap.xml')).toBe(0)
  })

  test('where robots.txt names none: /sitemap.xml', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a') })
    expect((await discover({ sitemaps: [] })).list).toEqual(['http://shop.example/a'])
  })

  test('where there is none at all: an error, no URL', async () => {
    expect(await discover({ sitemaps: [] })).toMatchObject({ total: 0, files: 0, errors: [{ url: 'http://shop.example/sitemap.xml', message: 'answered 404' }] })
  })
})

describe('robots.txt', () => {
  test('what it forbids is left out and counted; its delay is told', async () => {
    origin.on('/robots.txt', { body: 'User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\n' })
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a', 'http://shop.example/private/b') })
    expect(await discover()).toMatchObject({ total: 1, disallowed: 1, crawlDelay: 2500 })
  })

  test('while it cannot be read nothing is fetched', async () => {
    origin.on('/robots.txt', { status: 500 })
    const found = await discover()
    expect(found).toMatchObject({ total: 0, errors: [{ url: 'http://shop.example/robots.txt', message: 'answered 500' }] })
    expect(origin.hits('/sitemap.xml')).toBe(0)
  })

  test('an origin that is not there is said', async () => {
    const port = origin.port
    await origin.stop()
    const found = await discover()
    expect(found.errors[0]!.message).toContain(`127.0.0.1:${port}`)
    origin = await startOrigin()
  })
})

describe('what is not ours', () => {
  const foreign = [
    'http://evil.example/', 'https://shop.example/', 'http://shop.example:8080/', 'http://127.0.0.1/', 'http://2130706433/', 'http://0x7f.1/', 'http://127.1/',
    'http://0177.0.0.1/', 'http://[::1]/', 'http://[::ffff:7f00:1]/', 'http://[::ffff:169.254.169.254]/', 'http://169.254.169.254/latest/meta-data/', 'http://localhost/',
    'file:///etc/passwd', 'ftp://shop.example/', 'javascript:alert(1)', 'data:text/html,x', '//evil.example/x', '\\\\evil.example/x', 'http:\\\\evil.example/', 'http:/\\evil.example/',
    'http://shop.example@evil.example/', 'http://user:secret@shop.example/', 'http://shop.example%2eevil.example/', 'http://shop.example.evil.example/', 'http://evilshop.example/',
    'http://ѕhop.example/', 'http://shop.example。evil.example/', 'http://shоp.example/', 'http://①②⑦.⓪.⓪.①/', 'gopher://shop.example/', 'blob:http://shop.example/1',
  ]

  test('no socket is opened for a page of another place, in whatever spelling', async () => {
    origin.on('/sitemap.xml', { body: urlset(...foreign.map((loc) => loc.replaceAll('&', '&amp;'))) })
    const found = await discover()
    expect(found).toMatchObject({ total: 0, foreign: foreign.length, refused: 0 })
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
    expect(origin.requests.map((request) => request.path)).toEqual(['/robots.txt', '/sitemap.xml'])
  })

  test('nor for a sitemap of another place', async () => {
    origin.on('/sitemap.xml', { body: index(...foreign) })
    const found = await discover()
    expect(found).toMatchObject({ total: 0, foreign: foreign.length })
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
    expect(origin.requests.map((request) => request.path)).toEqual(['/robots.txt', '/sitemap.xml'])
  })

  test('a page of a sibling with a longer path, or beside the path, is foreign', async () => {
    origin.on('/shop/sitemap.xml', {
      body: urlset('http://shop.example/shop/a', 'http://shop.example/shop/de/a', 'http://shop.example/shopping', 'http://shop.example/', 'http://shop.example/shop/../x', 'http://shop.example/shop/%2e%2e/x'),
    })
    const found = await discover({ url: 'http://shop.example/shop', siblings: ['http://shop.example/shop/de'] })
    expect(found.list).toEqual(['http://shop.example/shop/a'])
    expect(found.foreign).toBe(5)
  })

  test('a redirect leads no further than the public origin', async () => {
    const places = ['http://169.254.169.254/', '//evil.example/', 'http://shop.example@evil.example/', 'file:///etc/passwd', 'https://shop.example/sitemap.xml']
    origin.on('/sitemap.xml', { body: index(...places.map((_, number) => `http://shop.example/${number}.xml`), 'http://shop.example/moved.xml') })
    for (const [number, location] of places.entries()) origin.on(`/${number}.xml`, { status: 302, headers: { location } })
    origin.on('/moved.xml', { status: 301, headers: { location: '/here.xml' } })
    origin.on('/here.xml', { body: urlset('http://shop.example/a') })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/a'])
    expect(found.errors.map((error) => error.message)).toEqual(places.map(() => 'redirects to another origin, which is not followed'))
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  test('redirects in a circle and without an end are recorded', async () => {
    origin.on('/sitemap.xml', { body: index('http://shop.example/circle.xml', 'http://shop.example/endless/0') })
    origin.on('/circle.xml', { status: 302, headers: { location: '/circle.xml' } })
    origin.otherwise((request) => {
      const match = /^\/endless\/(\d+)$/.exec(request.path)
      return match ? { status: 307, headers: { location: `/endless/${Number(match[1]) + 1}` } } : { status: 404 }
    })
    expect((await discover()).errors.map((error) => error.message)).toEqual(['redirects in a circle', 'redirects more than 5 times'])
  })
})

describe('URLs that are refused', () => {
  test('control characters, ANSI and ten thousand characters', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/a\u0085b', 'http://shop.example/\u009b31m', 'http://shop.example/a&#10;b', 'http://shop.example/a&#9;b', `http://shop.example/${'x'.repeat(10_000)}`, 'http://[') })
    expect(await discover()).toMatchObject({ total: 0, refused: 6, errors: [] })
  })

  test('an escape character makes the file no XML', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/\u001b[31m') })
    expect((await discover()).errors[0]!.message).toContain('no well-formed XML')
  })

  test('side effects and bypassed paths', async () => {
    const acting = [
      '/account/logout', '/logout', '/index.php/logout.php', '/wp-login.php?action=logout', '/my-account/customer-logout/', '/?add-to-cart=12', '/?action=logout', '/checkout/line-item/add',
      '/log%6Fut', '/a/../checkout/cart', '/%63heckout/confirm', '/CHECKOUT', '/index.php?cl=start&amp;fnc=tobasket', '/admin/x', '/api/x', '/x?remove_item=1', '/add-to-wishlist', '/newsletter/unsubscribe',
    ]
    origin.on('/sitemap.xml', { body: urlset(...acting.map((path) => `http://shop.example${path}`), 'http://shop.example/logout-sofa', 'http://shop.example/sign-outdoor', 'http://shop.example/cartography', 'http://shop.example/x?action=show') })
    const found = await discover()
    expect(found.list).toEqual(['/logout-sofa', '/sign-outdoor', '/cartography', '/x?action=show'].map((path) => `http://shop.example${path}`))
    expect(found.refused).toBe(acting.length)
  })
})

describe('hostile files', () => {
  test('a gigabyte of zeros in gzip is stopped', async () => {
    let sent = 0
    origin.on('/sitemap.xml', (_, response) => {
      const zeros = Buffer.alloc(1024 * 1024)
      const bomb = Readable.from((function* () {
        for (let i = 0; i < 1024; i++) yield zeros
      })()).pipe(createGzip())
      bomb.on('data', (chunk: Buffer) => (sent += chunk.length)).pipe(response)
      response.on('close', () => bomb.destroy())
    })
    const found = await discover()
    expect(found.errors).toHaveLength(1)
    expect(sent).toBeLessThan(1024 * 1024)
  })

  test.each([
    ['of blanks', ' '],
    ['of URLs', '<url><loc>http://shop.example/a</loc></url>'],
  ])('a bomb %s is stopped, and so is one in another', async (_, filling) => {
    const bomb = gzipSync(`<urlset>${filling.repeat(Math.ceil((20 * 1024 * 1024) / filling.length))}</urlset>`)
    origin.on('/sitemap.xml', { body: index('http://shop.example/1.xml', 'http://shop.example/2.xml') })
    origin.on('/1.xml', { body: bomb })
    origin.on('/2.xml', { body: gzipSync(bomb) })
    const { errors } = await discover()
    expect(errors).toHaveLength(2)
    for (const { message } of errors) expect(message).toMatch(/decompresses to more than 200 times|65536 characters without a tag/)
  })

  test('a plain file past the cap is stopped; what was found before is kept', async () => {
    origin.on('/sitemap.xml', { body: urlset(...Array.from({ length: 1000 }, (_, i) => `http://shop.example/${i}`)) })
    const found = await discover({ limits: { ...defaultLimits, fileBytes: 10_000 } })
    expect(found.errors[0]!.message).toBe('is larger than 10000 bytes')
  })

  test.each([
    ['a DOCTYPE', `<!DOCTYPE urlset [<!ENTITY a "b">]>${urlset('http://shop.example/&a;')}`, 'DOCTYPE'],
    ['an external entity', `<!DOCTYPE u SYSTEM "http://evil.example/x.dtd">${urlset('http://shop.example/a')}`, 'DOCTYPE'],
    ['an entity that is not XML’s', urlset('http://shop.example/&nbsp;'), 'no well-formed XML'],
    ['200,000 nested elements', `<urlset>${'<url>'.repeat(200_000)}`, 'more than 100 deep'],
    ['a text without an end', `<urlset><url><loc>${'a'.repeat(400_000)}`, 'without a tag'],
    ['a comment without an end', `<urlset><!-- ${'<>'.repeat(200_000)}`, 'without a tag'],
    ['an attribute without an end', `<urlset a="${'>'.repeat(400_000)}`, 'without a tag'],
    ['another page', '<html><body>Not found</body></html>', 'root element is html'],
    ['nothing', '', 'no well-formed XML'],
    ['noise', randomBytes(10_000), 'no well-formed XML'],
    ['half a file', urlset('http://shop.example/a').slice(0, -9), 'cut off'],
  ])('%s', async (_, body, message) => {
    origin.on('/sitemap.xml', { body })
    const found = await discover()
    expect(found.errors).toHaveLength(1)
    expect(found.errors[0]!.message).toContain(message)
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  test('an index that lists itself, and two that list each other', async () => {
    origin.on('/sitemap.xml', { body: index(...Array.from({ length: 1000 }, () => 'http://shop.example/sitemap.xml'), 'http://shop.example/2.xml') })
    origin.on('/2.xml', { body: index('http://shop.example/sitemap.xml', 'http://shop.example/sitemap.xml#again') })
    expect(await discover()).toMatchObject({ total: 0, files: 2, errors: [] })
    expect(origin.hits('/sitemap.xml')).toBe(1)
  })

  test('an index without an end is bounded in depth and in files', async () => {
    origin.otherwise((request) => (request.path === '/robots.txt' ? { status: 404 } : { body: index(...Array.from({ length: 3 }, (_, i) => `http://shop.example${request.path}/${i}`)) }))
    const deep = await discover()
    expect(deep.errors.every((error) => error.message === 'lists indexes more than 3 deep')).toBe(true)
    expect(deep.errors).toHaveLength(defaultLimits.hostileFiles)
    const wide = await discover({ limits: { ...defaultLimits, indexDepth: 1000, files: 20 } })
    expect(wide.errors[0]!.message).toContain('more than 20 sitemap files')
  })

  test('many broken files end the discovery of their channel', async () => {
    origin.on('/sitemap.xml', { body: index(...Array.from({ length: 500 }, (_, i) => `http://shop.example/${i}.xml`)) })
    origin.otherwise((request) => (request.path === '/robots.txt' ? { status: 404 } : { body: '<!DOCTYPE html><html>' }))
    expect((await discover()).errors).toHaveLength(defaultLimits.hostileFiles)
    expect(origin.requests).toHaveLength(2 + defaultLimits.hostileFiles)
  })

  test('more URLs than are kept', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/1', 'http://shop.example/2', 'http://shop.example/3') })
    const found = await discover({ limits: { ...defaultLimits, urls: 2 } })
    expect(found).toMatchObject({ total: 2, errors: [{ message: 'more than 2 URLs; the others are left out' }] })
  })

  test('a body that stands still ends with a timeout', async () => {
    await fetch.close()
    fetch = openSitemapFetch({ timeout: 200, redirects: 5, retryDelay: 1 })
    origin.on('/sitemap.xml', (_, response) => void response.write('<urlset>'))
    expect((await discover()).errors[0]!.message).toMatch(/timeout/i)
  })
})
