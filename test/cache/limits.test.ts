import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { startOrigin } from '../helpers/origin.ts'
import { openSite, shopUrl, toVisit } from './site.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'image/png' }

async function open(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  return site
}

describe('a page above cache.maxPageSize', () => {
  const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  it.each<[string, (body: string) => { fields: Record<string, string>; body: string }]>([
    ['with Content-Length', (body) => ({ fields, body })],
    [
      'without Content-Length',
      (body) => ({ fields: { ...fields, 'Transfer-Encoding': 'chunked' }, body: chunked(body) }),
    ],
  ])('%s is served and not stored', async (_, reply) => {
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

  it('is streamed: the visitor gets its start before the shop sends its end', async () => {
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
    const answer = await site.cache.answer(toVisit('/film'))
    const body = answer.body as Readable
    if (body.readableLength === 0) await once(body, 'readable')
    finish()
    expect(await text(body)).toBe(`${'beginning'.repeat(200)}end`)
  })
})

describe('a shop that is too slow', () => {
  const never = () => new Promise<never>(() => {})
  const timeouts = { connect: 1000, headers: 60_000, idle: 60_000, total: 80 }

  it('is answered with our own 504', async () => {
    const site = await open({ timeouts })
    site.answers(never)
    const answer = await site.visit('/a')
    expect(answer.status).toBe(504)
    expect(answer.text).toBe('The shop did not respond in time.\n')
    expect(answer.field('cache-control')).toBe('no-store')
    expect(answer.field('cache-status')).toBe('pagecache; fwd=miss; detail="origin timeout"')
  })

  it.each(['stale-if-error=600', 'foo'])('is replaced by a stale page (%s)', async (directive) => {
    const site = await open({ timeouts })
    site.answers({ fields: { 'Cache-Control': `max-age=10, ${directive}` }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    site.answers(never)
    expect(await site.visit('/a')).toMatchObject({ status: 200, text: 'old' })
  })

  it('is not replaced by a must-revalidate page', async () => {
    const site = await open({ timeouts })
    site.answers({ fields: { 'Cache-Control': 'max-age=10, must-revalidate, stale-if-error=600' }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    site.answers(never)
    expect((await site.visit('/a')).status).toBe(504)
  })

  it('releases all waiting visitors', async () => {
    const site = await open({ timeouts })
    site.answers(never)
    const answers = await Promise.all(Array.from({ length: 10 }, () => site.visit('/a')))
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(504))
  })
})

it('an unreachable shop is answered with our own 502', async () => {
  const site = await open({ channels: [{ id: 'c1', name: 'Shop', url: shopUrl, origin: 'http://127.0.0.1:1' }] })
  expect(await site.visit('/a')).toMatchObject({
    status: 502,
    text: 'The shop is unreachable or sent an invalid response.\n',
  })
  expect((await site.visit('/checkout')).status).toBe(502)
})

it('an unknown host gets a 421 without an origin request', async () => {
  const site = await open()
  expect((await site.visit('/a', { host: 'evil.example' })).status).toBe(421)
  expect(site.origin.requests).toEqual([])
})

it('a request loop gets a 508', async () => {
  const site = await open()
  expect((await site.visit('/a', { fields: { Via: '1.1 somebody, 1.1 pagecache' } })).status).toBe(508)
  expect(site.origin.requests).toEqual([])
})

describe('statistics', () => {
  it('measure generation and serving times', async () => {
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
    await site.stopCache()
    const { products } = site.store.counters()
    expect(products).toMatchObject({ count: 2, hits: 5, originalSize: 8 })
    // Timers may fire slightly early.
    expect(products.generationMs).toBeGreaterThan(2 * 25)
    expect(products.hitMs).toBeGreaterThan(0)
    expect(site.store.findByUrl(`${shopUrl}/a`)[0]!.hits).toBe(5)
  })

  it('count a validation as neither generation nor hit', async () => {
    const site = await open()
    site.answers({ fields: { ...fields, ETag: '"a"' }, body: 'page' })
    await site.visit('/a')
    const [before] = site.store.findByUrl(`${shopUrl}/a`)
    site.wait(70)
    site.answers({ status: 304, fields: { ...fields, ETag: '"a"' } })
    await site.visit('/a')
    await site.stopCache()
    const [after] = site.store.findByUrl(`${shopUrl}/a`)
    expect(after!.generationMs).toBe(before!.generationMs)
    expect(after!.hits).toBe(0)
  })
})
