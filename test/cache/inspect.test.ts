import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { inspectUrl } from '../../src/cache/inspect.ts'
import { shopwareSettings } from './shopware-preset.ts'
import { openSite, shopUrl } from './site.ts'

const { signal } = new AbortController()
const fields = { 'Cache-Control': 'public, max-age=60' }

async function open(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  return {
    site,
    inspect: (target: string) =>
      inspectUrl(site.cache, site.store, target.startsWith('/') ? shopUrl + target : target, site.now(), signal),
  }
}

describe('rules of a kind of shop', () => {
  it('are named for an empty path, an asset and variants', async () => {
    const { site, inspect } = await open(shopwareSettings())
    site.answers({ fields, body: 'page' })
    expect(await inspect('/widgets/checkout/info')).toMatchObject({
      cached: false,
      reason: expect.stringContaining('empty response (204)'),
    })
    expect(site.origin.requests).toHaveLength(0)
    expect((await inspect('/media/a')).explanation).toContain(
      'It is an asset: visitors with any cookies share one page, and the shop gets none of them (cache.assets).',
    )
    expect((await inspect('/a')).explanation).toContain('Variants by cookie sw-cache-hash or else sw-currency.')
  })
})

describe('why a URL is cached', () => {
  it('fresh', async () => {
    const { site, inspect } = await open()
    site.answers({ fields, body: 'page' })
    await site.visit('/a')
    site.wait(20)
    expect(await inspect('/a')).toMatchObject({
      url: `${shopUrl}/a`,
      cached: true,
      reason: 'It is cached and fresh: visitors get it without a request to the shop.',
      explanation: [
        `Sales channel Shop (${shopUrl}), origin ${site.origin.url}.`,
        'Variants by cookie sw-cache-hash, cookie sw-currency.',
        'One variant is stored.',
        expect.stringMatching(/^For every visitor: status 200, fresh for another 40/),
      ],
    })
    expect(site.origin.requests).toHaveLength(1)
  })

  it.each([
    ['max-age=10', 'the cache revalidates it for the next visitor'],
    ['max-age=10, stale-while-revalidate=60', 'the next visitor gets it at once'],
    ['max-age=60, no-cache', 'the cache revalidates it for the next visitor'],
  ])('stale (%s)', async (control, words) => {
    const { site, inspect } = await open()
    site.answers({ fields: { 'Cache-Control': control, ETag: '"a"' }, body: 'page' })
    await site.visit('/a')
    site.wait(20)
    expect((await inspect('/a')).reason).toContain(words)
  })

  it('describes each variant', async () => {
    const { site, inspect } = await open()
    site.answers((request) => ({
      fields: {
        'Cache-Control': 'public, max-age=60, stale-while-revalidate=120, stale-if-error=3600',
        Vary: 'Accept-Language',
        'sw-invalidation-states': 'logged-in',
      },
      body: request.fields.get('accept-language') ?? 'none',
    }))
    await site.visit('/a', { fields: { 'Accept-Language': 'de', Cookie: 'sw-currency=EUR' } })
    await site.visit('/a')
    const { explanation, pages } = await inspect('/a')
    expect(pages).toHaveLength(2)
    const text = explanation.join('\n')
    expect(text).toContain('2 variants are stored.')
    expect(text).toContain('For cookie sw-currency=EUR; accept-language: de: status 200')
    expect(text).toContain('For accept-language: (none): status 200')
    expect(text).toMatch(
      /not for visitors in client state logged-in, then 2.* stale while it is refetched, 1.* stale when the shop fails/,
    )
  })

  it('a stored range', async () => {
    const { site, inspect } = await open()
    site.answers({ status: 206, fields: { ...fields, 'Content-Range': 'bytes 0-3/10' }, body: '0123' })
    await site.visit('/a', { fields: { Range: 'bytes=0-3' } })
    expect((await inspect('/a')).explanation.at(-1)).toContain('only bytes 0 to 3 of 10')
  })

  it('by a non-canonical URL', async () => {
    const { site, inspect } = await open()
    site.answers({ fields, body: 'page' })
    await site.visit('/a?b=1&a=2')
    const found = await inspect('/a?utm_source=x&a=2&b=1')
    expect(found).toMatchObject({ cached: true, url: `${shopUrl}/a?a=2&b=1` })
    expect(found.explanation[1]).toContain(`canonical form is ${shopUrl}/a?a=2&b=1`)
  })
})

describe('why a URL is not cached', () => {
  it.each([
    'http://evil.example/',
    'https://shop.example/',
    'http://shop.example:81/',
    'no url',
    'http://user@shop.example/',
  ])('%s has no channel', async (url) => {
    const { site, inspect } = await open()
    expect(await inspect(url)).toMatchObject({
      cached: false,
      reason: 'No sales channel has this URL: visitors get a 421.',
      explanation: [`Sales channels: ${shopUrl}.`],
    })
    expect(site.origin.requests).toEqual([])
  })

  it('a bypass path', async () => {
    const { site, inspect } = await open()
    expect((await inspect('/checkout/cart')).reason).toBe('It always goes to the shop: a path that is never cached.')
    expect(site.origin.requests).toEqual([])
  })

  it('never visited', async () => {
    const { site, inspect } = await open()
    site.answers({ fields, body: 'page' })
    expect(await inspect('/a')).toMatchObject({
      cached: false,
      reason: expect.stringMatching(/^It is not cached now, but could be: the shop answers 200 and allows it/),
    })
    expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
  })

  it.each([
    [{ 'Cache-Control': 'no-store' }, 'Cache-Control: no-store'],
    [{ 'Cache-Control': 'private, max-age=60' }, 'Cache-Control: private'],
    [{ ...fields, Vary: '*' }, 'Vary: *'],
    [{ 'Cache-Control': 'max-age=60', 'Set-Cookie': 'a=1' }, 'Set-Cookie without public or s-maxage'],
    [{}, 'no freshness and no validator'],
  ])('the shop forbids storing: %j', async (given, words) => {
    const { site, inspect } = await open()
    site.answers({ fields: given, body: 'page' })
    expect((await inspect('/a')).reason).toBe(`It is not cached and cannot be: the shop answers 200 (${words}).`)
    await site.visit('/a')
    site.answers({ status: 500 })
    expect((await inspect('/a')).reason).toBe(`It is not cached: its last response could not be stored (${words}).`)
  })

  it('the shop is unreachable', async () => {
    const { site, inspect } = await open()
    site.answers({ breaks: 'before' })
    expect((await inspect('/a')).reason).toMatch(/^It is not cached, and the shop is unreachable: .+\.$/)
  })

  it('purged', async () => {
    const { site, inspect } = await open()
    site.answers({ fields, body: 'page' })
    await site.visit('/a')
    await site.store.remove({ kind: 'all' })
    expect((await inspect('/a')).reason).toMatch(/^It is not cached now, but could be/)
  })
})
