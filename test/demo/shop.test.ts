import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startShop } from '../../src/demo/shop.ts'
import type { ShopwareVersion } from '../../src/demo/shopware.ts'
import { pageTypes } from '../../src/pages/page.ts'
import { cookiesOf, openDemoShop } from './opened-shop.ts'

const { shop, ask, pathOf } = openDemoShop()

const capability = { 'surrogate-capability': 'pagecache="ESI/1.0"' }

async function startVersion(version: ShopwareVersion) {
  const started = await startShop({ latency: 'off', version })
  return { url: started.url, [Symbol.asyncDispose]: () => started.close() }
}

describe('pages', () => {
  it('number at least 600, of all five types in both channels, and all respond', async () => {
    const urls = shop().channels.flatMap(({ prefix, pages }) => pages.map((page) => `${prefix}${page.path}`))
    expect(urls.length).toBeGreaterThanOrEqual(600)
    for (const { pages } of shop().channels) {
      expect(pages.length).toBeGreaterThanOrEqual(300)
      expect(new Set(pages.map((page) => page.type))).toEqual(new Set(pageTypes))
    }
    const statuses = await Promise.all(urls.map(async (url) => (await ask(url, { method: 'HEAD' })).status))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  it('have the headers of a Shopware storefront', async () => {
    const response = await ask(pathOf('products'))
    expect(response.headers.get('cache-control')).toMatch(/^public, s-maxage=7200/)
    // The menu is a fragment, whose tags are not those of the page.
    expect(response.headers.get('xkey')).toMatch(/^product-[0-9a-f]{32} translator-/)
    expect(response.headers.get('sw-invalidation-states')).toBe('logged-in,cart-filled')
    expect(response.headers.get('vary')).toBe('Accept-Encoding')
    expect(response.headers.getSetCookie()[0]).toMatch(/^session-=[0-9a-f]{32};/)
    const known = await ask(pathOf('products'), { headers: { cookie: cookiesOf(response) } })
    expect(known.headers.getSetCookie()).toEqual([])
  })

  it('have the headers of 6.6 and 6.8', async () => {
    await using old = await startVersion('6.6')
    const before = await fetch(old.url, { headers: capability })
    expect(before.headers.get('xkey')).toMatch(/^cms-page-[0-9a-f]{32} navigation translator-/)
    expect([await before.text(), before.headers.has('surrogate-control')]).toEqual([
      expect.not.stringContaining('<esi:'),
      false,
    ])
    await using next = await startVersion('6.8')
    const { headers } = await fetch(next.url)
    expect(headers.get('vary')).toBe('Accept-Encoding, sw-access-key, sw-language-id, sw-currency-id, sw-cache-hash')
    expect(['sw-language-id', 'sw-currency-id'].map((name) => headers.get(name)?.length)).toEqual([32, 32])
    expect(headers.has('sw-invalidation-states')).toBe(false)
    const foreign = await fetch(next.url, { headers: { cookie: 'sw-cache-hash=x' } })
    expect([foreign.headers.get('sw-dynamic-cache-bypass'), foreign.headers.get('cache-control')]).toEqual([
      '1',
      'no-cache, private',
    ])
    expect(foreign.headers.has('xkey')).toBe(false)
  })

  it('include header and footer as fragments for a cache that assembles them', async () => {
    const page = await ask('/de/', { headers: capability })
    expect(page.headers.get('surrogate-control')).toBe('content="ESI/1.0"')
    const text = await page.text()
    const paths = [...text.matchAll(/<esi:include src="([^"]+)" \/>/g)].map((match) => match[1]!)
    expect(paths).toEqual(['/de/_esi/global/header', '/de/_esi/global/footer'])
    const parts = await Promise.all(paths.map(async (path) => [path, await ask(path)] as const))
    for (const [, part] of parts) expect(part.headers.get('xkey')).toMatch(/^navigation translator-/)
    let whole = text
    for (const [path, part] of parts) whole = whole.replace(`<esi:include src="${path}" />`, await part.text())
    expect(whole).toBe(await (await ask('/de/')).text())
  })

  it.each(['cms', 'categories', 'listings', 'products'])('of type %s weigh 15 to 30 kB', async (type) => {
    const html = await (await ask(pathOf(type))).text()
    expect(html.length).toBeGreaterThan(15_000)
    expect(html.length).toBeLessThan(32_000)
  })

  it('are the same at every start', async () => {
    await using other = await startShop({
      latency: 'off',
      publicUrls: { en: shop().url, de: `${shop().url}/de` },
    }).then((started) => ({ url: started.url, [Symbol.asyncDispose]: () => started.close() }))
    const path = pathOf('products', 1)
    expect(await (await fetch(other.url + path)).text()).toBe(await (await ask(path)).text())
  })

  it('speak the language of their channel', async () => {
    expect(await (await ask('/')).text()).toContain('<html lang="en">')
    expect(await (await ask('/de')).text()).toContain('<html lang="de">')
    expect(await (await ask('/de/')).text()).toContain('Hafen &amp; Kiefer')
  })

  it('link only to pages that exist', async () => {
    const html = await Promise.all(
      ['/', pathOf('categories', 1), pathOf('products', 1)].map(async (path) => (await ask(path)).text()),
    )
    const links = new Set(
      html.flatMap((text) => [...text.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map((match) => match[1] ?? '')),
    )
    expect(links.size).toBeGreaterThan(50)
    for (const link of links) expect((await ask(link.replaceAll('&amp;', '&'))).status, link).toBeLessThan(400)
  })

  it('ignore unknown parameters and use their own', async () => {
    expect((await ask(`${pathOf('products')}?utm_source=x`)).status).toBe(200)
    expect((await ask(pathOf('categories') + '?p=1')).headers.get('xkey')).toContain('category-route-')
    expect((await ask(pathOf('categories') + '?p=99')).status).toBe(404)
  })
})

describe('HTTP', () => {
  it('answers a conditional request with 304 if the page has validators', async () => {
    const first = await ask(pathOf('products'))
    const etag = first.headers.get('etag') ?? ''
    const again = await ask(pathOf('products'), { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
    const since = await ask(pathOf('cms'), { headers: { 'if-modified-since': new Date().toUTCString() } })
    expect(since.status).toBe(304)
    expect((await ask(pathOf('products'), { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    expect((await ask(pathOf('categories'))).headers.has('etag')).toBe(false)
  })

  it('answers HEAD with the headers of GET and no body', async () => {
    const plain = { 'accept-encoding': 'identity' }
    const get = await ask(pathOf('cms'), { headers: plain })
    const head = await ask(pathOf('cms'), { method: 'HEAD', headers: plain })
    expect(await head.text()).toBe('')
    expect(head.headers.get('content-length')).toBe(String((await get.arrayBuffer()).byteLength))
  })

  it('compresses for clients that accept it', async () => {
    expect(
      (await ask(pathOf('cms'), { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })).headers.get('content-encoding'),
    ).toBe('gzip')
    expect(
      (await ask(pathOf('cms'), { headers: { 'accept-encoding': 'gzip;q=0' } })).headers.get('content-encoding'),
    ).toBe(null)
  })

  it('answers uncacheable 404, 405 and 413', async () => {
    const missing = await ask('/no-such-page')
    expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, 'no-cache, private'])
    expect((await ask('/', { method: 'POST', body: '' })).status).toBe(405)
    expect((await ask('/account/login', { method: 'POST', body: 'x'.repeat(20_000) })).status).toBe(413)
  })

  it.each([
    ['png', 'image/png'],
    ['svg', 'image/svg+xml'],
  ])('serves %s images with validators', async (extension, type) => {
    const image = await ask(`/media/aurora-lamp.${extension}`)
    expect([image.status, image.headers.get('content-type')]).toEqual([200, type])
    expect(image.headers.get('cache-control')).toBe('public, max-age=604800')
    expect(image.headers.get('last-modified')).not.toBe(null)
    const again = await ask(`/media/aurora-lamp.${extension}`, {
      headers: { 'if-none-match': image.headers.get('etag') ?? '' },
    })
    expect(again.status).toBe(304)
  })
})

describe('sitemap', () => {
  it.each([0, 1])('of channel %i is an index with gzip children that list each of its pages once', async (index) => {
    const channel = shop().channels[index]
    const robots = await (await ask('/robots.txt')).text()
    expect(robots).toContain(`Sitemap: ${channel?.url}/sitemap.xml`)
    const children = locationsOf(await (await ask(`${channel?.prefix}/sitemap.xml`)).text())
    const pages = await Promise.all(
      children.map(async (url) => {
        const child = await fetch(url)
        expect(child.headers.get('content-type')).toBe('application/octet-stream')
        expect(child.headers.get('content-encoding')).toBe(null)
        return locationsOf(gunzipSync(Buffer.from(await child.arrayBuffer())).toString())
      }),
    )
    expect(pages.flat().toSorted()).toEqual(channel?.pages.map((page) => channel.url + page.path).toSorted())
  })

  it('lists public URLs behind a cache', async () => {
    const fronted = await startShop({
      latency: 'off',
      publicUrls: { en: 'http://shop.example', de: 'http://laden.example' },
    })
    try {
      const children = locationsOf(await (await fetch(`${fronted.url}/sitemap.xml`)).text())
      expect(children.every((url) => url.startsWith('http://shop.example/sitemap/'))).toBe(true)
      expect(fronted.channels.map((channel) => channel.prefix)).toEqual(['', ''])
    } finally {
      await fronted.close()
    }
  })
})

it('counts rendered pages', async () => {
  const path = pathOf('listings', 1)
  const before = shop().stats().rendered.get(path) ?? 0
  await (await ask(path)).text()
  expect(shop().stats().rendered.get(path)).toBe(before + 1)
})

function locationsOf(xml: string): string[] {
  return [...xml.matchAll(/<loc>([^<]+)<\/loc>/g)].map((match) => (match[1] ?? '').replaceAll('&amp;', '&'))
}
