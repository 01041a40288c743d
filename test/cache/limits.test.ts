import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ProxySettings } from '../../src/cache/build.ts'
import { startOrigin } from '../helpers/origin.ts'
import { openSite, shopUrl } from './site.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'image/png' }

async function open(changes: Partial<ProxySettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  return site
}

describe('a page that is larger than the cache takes', () => {
  const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  it.each<[string, (body: string) => { fields: Record<string, string>; body: string }]>([
    ['with its length', (body) => ({ fields, body })],
    ['without its length', (body) => ({ fields: { ...fields, 'Transfer-Encoding': 'chunked' }, body: chunked(body) })],
  ])('%s goes to the visitor and not into the store', async (_, reply) => {
    const site = await open({ maxPageSize: 1000 })
    for (const [size, stored] of [
      [1000, true],
      [1001, false],
      [300_000, false],
    ] as const) {
      const body = 'x'.repeat(size)
      site.answers(reply(body))
      const answer = await site.visit(`/${size}`)
      expect(answer.text).toBe(body)
      expect(answer.field('cache-status')).toMatch(stored ? /stored/ : /detail="larger than cache.maxPageSize"/)
      expect(site.store.findByUrl(`${shopUrl}/${size}`)).toHaveLength(stored ? 1 : 0)
    }
  })

  it('streams: its beginning is with the visitor before its end has left the shop', async () => {
    const shop = await startOrigin()
    onTestFinished(() => shop.stop())
    let finish = () => {}
    shop.on('/film', (_, response) => {
      response.writeHead(200, fields)
      response.write('beginning'.repeat(200))
      finish = () => response.end('end')
    })
    const site = await open({
      maxPageSize: 1000,
      channels: [{ id: 'c1', name: 'Shop', url: shopUrl, origin: shop.url }],
    })
    const answer = await site.proxy.answer({
      method: 'GET',
      scheme: 'http',
      host: 'shop.example',
      target: '/film',
      headers: [],
      remoteAddress: null,
      forwardedFor: null,
      body: null,
      signal: new AbortController().signal,
      onInterim: () => {},
    })
    const body = answer.body as Readable
    if (body.readableLength === 0) await once(body, 'readable')
    finish()
    expect(await text(body)).toBe(`${'beginning'.repeat(200)}end`)
  })
})

describe('a shop that is too slow', () => {
  const never = () => new Promise<never>(() => {})
  const timeouts = { connect: 1000, headers: 60_000, idle: 60_000, total: 80 }

  it('504 in words of our own', async () => {
    const site = await open({ timeouts })
    site.answers(never)
    const answer = await site.visit('/a')
    expect(answer.status).toBe(504)
    expect(answer.text).toBe('The shop took too long to answer.\n')
    expect(answer.field('cache-control')).toBe('no-store')
    expect(answer.field('cache-status')).toBe('pagecache; fwd=miss; detail="origin timeout"')
  })

  it.each(['stale-if-error=600', 'foo'])('a stale page stands in (%s)', async (directive) => {
    const site = await open({ timeouts })
    site.answers({ fields: { 'Cache-Control': `max-age=10, ${directive}` }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    site.answers(never)
    expect(await site.visit('/a')).toMatchObject({ status: 200, text: 'old' })
  })

  it('not where it must be validated', async () => {
    const site = await open({ timeouts })
    site.answers({ fields: { 'Cache-Control': 'max-age=10, must-revalidate, stale-if-error=600' }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    site.answers(never)
    expect((await site.visit('/a')).status).toBe(504)
  })

  it('everybody who waits is released', async () => {
    const site = await open({ timeouts })
    site.answers(never)
    const answers = await Promise.all(Array.from({ length: 10 }, () => site.visit('/a')))
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(504))
  })
})

it('a shop that is not there: 502 in words of our own', async () => {
  const site = await open({ channels: [{ id: 'c1', name: 'Shop', url: shopUrl, origin: 'http://127.0.0.1:1' }] })
  expect(await site.visit('/a')).toMatchObject({ status: 502, text: 'The shop could not be reached or broke off.\n' })
  expect((await site.visit('/checkout')).status).toBe(502)
})

it('an unknown host: 421, nothing asked, nothing stored', async () => {
  const site = await open()
  expect((await site.visit('/a', { host: 'evil.example' })).status).toBe(421)
  expect(site.origin.requests).toEqual([])
})

it('a shop whose address leads back to us: 508', async () => {
  const site = await open()
  expect((await site.visit('/a', { fields: { Via: '1.1 somebody, 1.1 pagecache' } })).status).toBe(508)
  expect(site.origin.requests).toEqual([])
})

describe('what is counted', () => {
  it('how long pages take to make, and to serve', async () => {
    const shop = await startOrigin()
    onTestFinished(() => shop.stop())
    shop.otherwise(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      return { headers: { ...fields, xkey: 'product-1' }, body: 'page' }
    })
    const site = await open({ channels: [{ id: 'c1', name: 'Shop', url: shopUrl, origin: shop.url }] })
    for (let visit = 0; visit < 5; visit++) await site.visit('/a')
    await site.visit('/a', { fields: { Range: 'bytes=0-1' } })
    await site.visit('/b')
    await site.stopProxy()
    const { products } = site.store.counters()
    expect(products).toMatchObject({ count: 2, hits: 5, originalSize: 8 })
    // The timer may fire a little early by the clock that measures.
    expect(products.generationMs).toBeGreaterThan(2 * 25)
    expect(products.hitMs).toBeGreaterThan(0)
    expect(site.store.findByUrl(`${shopUrl}/a`)[0]!.hits).toBe(5)
  })

  it('a validation makes no page and serves none', async () => {
    const site = await open()
    site.answers({ fields: { ...fields, ETag: '"a"' }, body: 'page' })
    await site.visit('/a')
    const [before] = site.store.findByUrl(`${shopUrl}/a`)
    site.wait(70)
    site.answers({ status: 304, fields: { ...fields, ETag: '"a"' } })
    await site.visit('/a')
    await site.stopProxy()
    const [after] = site.store.findByUrl(`${shopUrl}/a`)
    expect(after!.generationMs).toBe(before!.generationMs)
    expect(after!.hits).toBe(0)
  })
})
