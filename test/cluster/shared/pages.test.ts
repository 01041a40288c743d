import { describe, expect, it, vi } from 'vitest'
import { toFetchPage } from '../../../src/warmup/run/fetch-page.ts'
import type { FetchPage } from '../../../src/warmup/run/warm-result.ts'
import { isHit, shopUrl } from '../../cache/site.ts'
import { fetchOptions } from '../../helpers/fetch-options.ts'
import { hasRedis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'
import { page, useNodes, written, type Node } from './nodes.ts'

const detail = 'fetched by another node'

describe.skipIf(!hasRedis)('pages of other nodes (skipped where redis-server is not installed)', () => {
  const nodes = useNodes()

  it('answers a miss with the page that another node has fetched', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    expect(isHit(await a.visit('/'))).toBe(false)
    await written(a)
    const answer = await b.visit('/')
    expect(answer.text).toBe('the page')
    expect(answer.field('cache-status')).toContain(`hit; ttl=600; detail="${detail}"`)
    expect(answer.field('xkey')).toBeNull()
    expect(b.origin.requests).toEqual([])
    // Then it is a page of this node's own.
    expect((await b.visit('/')).field('cache-status')).toMatch(/hit; ttl=600$/)
    expect(b.shared.counts).toMatchObject({ hits: 1, misses: 0 })
    await b.store.remove({ kind: 'tags', tags: ['product-1'] })
    expect(b.store.findByUrl('http://shop.example/')).toEqual([])
  })

  it('returns no page that was purged since its fetch began', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    await a.visit('/')
    await written(a)
    await nodes.purges.purge({ kind: 'tags', tags: ['product-2'] })
    await b.visit('/')
    expect(b.origin.requests).toEqual([])
    for (const [index, selection] of [
      { kind: 'tags' as const, tags: ['product-1'] },
      { kind: 'urls' as const, urls: ['http://shop.example/'] },
      { kind: 'type' as const, type: 'products' as const },
      { kind: 'all' as const },
    ].entries()) {
      await nodes.purges.purge(selection)
      b.answers({ ...page, body: `version ${index}` })
      expect((await b.visit('/')).text).toBe(`version ${index}`)
      await written(b, index + 1)
      expect((await a.visit('/')).text).toBe(`version ${index}`)
    }
    expect(a.origin.requests).toHaveLength(1)
  })

  it('shares no page whose fetch began before a purge of it', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const { promise, resolve } = Promise.withResolvers<void>()
    a.answers(async () => {
      await promise
      return { ...page, body: 'old' }
    })
    const slow = a.visit('/')
    await until(() => a.origin.requests.length === 1)
    await nodes.purges.purge({ kind: 'tags', tags: ['product-1'] })
    resolve()
    expect((await slow).text).toBe('old')
    b.answers({ ...page, body: 'new' })
    expect((await b.visit('/')).text).toBe('new')
  })

  it('asks the shop once for pages that three nodes lack, with 30 visitors each', async () => {
    const several = await nodes.open(3)
    const paths = Array.from({ length: 40 }, (_, index) => `/${index}`)
    const answers = await Promise.all(
      paths.flatMap((path) => several.flatMap((node) => Array.from({ length: 30 }, () => node.visit(path)))),
    )
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['the page']))
    const asked = several.flatMap(({ origin }) => origin.requests.map(({ target }) => target))
    expect(asked.toSorted()).toEqual(paths.toSorted())
  })

  it('gives each variant by Vary to its visitors', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const fields = { ...page.fields, Vary: 'Accept-Language' }
    for (const node of [a, b])
      node.answers((request) => ({ fields, body: `in ${request.fields.get('accept-language')}` }))
    for (const language of ['de', 'en']) await a.visit('/', { fields: { 'Accept-Language': language } })
    await written(a, 2)
    for (const language of ['de', 'en'])
      expect((await b.visit('/', { fields: { 'Accept-Language': language } })).text).toBe(`in ${language}`)
    expect(b.origin.requests).toEqual([])
    expect((await b.visit('/', { fields: { 'Accept-Language': 'fr' } })).text).toBe('in fr')
    expect(b.origin.requests).toHaveLength(1)
  })

  it.each([
    ['a private answer', { 'Cache-Control': 'private, max-age=60' }],
    ['a no-store answer', { 'Cache-Control': 'no-store' }],
    ['an answer with a cookie', { 'Cache-Control': 'max-age=60', 'Set-Cookie': 'session=1' }],
    ['a page that must be validated', { 'Cache-Control': 'no-cache', ETag: '"1"' }],
  ])('does not share %s', async (_, fields) => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    a.answers({ fields, body: 'for one visitor' })
    await a.visit('/')
    expect((await b.visit('/')).text).toBe('the page')
    expect(b.shared.counts.hits).toBe(0)
  })

  it('does not share the page of an unconfirmed variant', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const fields = { Cookie: 'sw-cache-hash=forged' }
    a.answers({ ...page, body: 'poisoned' })
    await a.visit('/', { fields })
    await a.shared.close()
    await b.visit('/', { fields })
    expect(b.origin.requests).toHaveLength(1)
    expect(a.shared.counts.written).toBe(0)
  })

  it('does not give a page to visitors in a client state that excludes it', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    a.answers({ ...page, fields: { ...page.fields, 'sw-invalidation-states': 'cart-filled' } })
    await a.visit('/')
    await written(a)
    b.answers({ ...page, body: 'with a cart' })
    const answer = await b.visit('/', { fields: { Cookie: 'sw-states=cart-filled' } })
    expect(answer.text).toBe('with a cart')
  })

  it('forgets pages that a visitor has changed', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    await a.visit('/')
    await written(a)
    b.answers({ ...page, body: 'changed' })
    expect((await b.visit('/', { method: 'POST', body: 'comment=1' })).status).toBe(200)
    expect((await b.visit('/')).text).toBe('changed')
  })

  it('replaces a page that has expired, and renews it on every node after a 304', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const fields = { ...page.fields, 'Cache-Control': 'public, s-maxage=60', ETag: '"1"' }
    a.answers((request) =>
      request.fields.get('if-none-match') === '"1"' ? { status: 304, fields } : { fields, body: 'the page' },
    )
    await a.visit('/')
    await written(a)
    await b.visit('/')
    expect(b.origin.requests).toEqual([])
    for (const node of [a, b]) node.wait(61)
    await a.visit('/')
    await written(a, 2)
    expect(a.origin.requests).toHaveLength(2)
    expect((await b.visit('/')).field('cache-status')).toContain(detail)
    expect(b.origin.requests).toEqual([])
  })

  it('keeps no page longer than cache.shared.maxAge', async () => {
    const [a] = (await nodes.open(1, { maxAge: 5_000 })) as [Node]
    await a.visit('/')
    await written(a)
    const [key] = (await nodes.redis.run('KEYS', '*:pages:*')) as string[]
    expect(await nodes.redis.run('PTTL', key!)).toBeLessThanOrEqual(5_000)
    expect(await nodes.redis.run('PTTL', key!)).toBeGreaterThan(0)
  })

  it('drops the pages of a URL with too many variants', async () => {
    const [a] = (await nodes.open(1, { maxVariants: 4 })) as [Node]
    a.answers({ ...page, fields: { ...page.fields, Vary: 'Foo' } })
    for (let index = 0; index < 12; index++) await a.visit('/', { fields: { Foo: `x-${index}` } })
    await written(a, 12)
    const [key] = (await nodes.redis.run('KEYS', '*:pages:*')) as string[]
    expect(await nodes.redis.run('HLEN', key!)).toBeLessThanOrEqual(8)
  })

  it('believes a page no longer because its node has a clock that is ahead', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    a.wait(3600)
    await a.visit('/')
    await written(a)
    expect((await b.visit('/')).field('cache-status')).toContain('ttl=600;')
  })

  it('counts the hits of all nodes', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    await a.visit('/')
    await written(a)
    await b.visit('/')
    await b.shared.close()
    expect(await a.shared.statistics()).toEqual({ usable: true, hits: 1 })
  })

  it('shares the pages of a warmup, which asks the shop for none that another node has', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const [warmA, warmB] = [a, b].map(({ cache, now }) => toFetchPage(cache, now, 60_000)) as [FetchPage, FetchPage]
    expect(await warmA(`${shopUrl}/`, fetchOptions)).toMatchObject({ kind: 'stored' })
    await written(a)
    expect(await warmB(`${shopUrl}/`, fetchOptions)).toEqual({ kind: 'fresh' })
    expect(b.origin.requests).toEqual([])
    expect((await b.visit('/')).field('cache-status')).toMatch(/hit; ttl=600$/)
    b.answers({ ...page, body: 'warmed again' })
    expect(await warmB(`${shopUrl}/`, { ...fetchOptions, force: true })).toMatchObject({ kind: 'stored' })
    expect(b.origin.requests).toHaveLength(1)
  })

  it('counts no page of another node as warm that this node has no room for', async () => {
    const [a, b] = (await nodes.open(2)) as [Node, Node]
    const warm = toFetchPage(b.cache, b.now, 60_000)
    await a.visit('/')
    await written(a)
    const full = vi.spyOn(b.store, 'put').mockResolvedValue('unavailable')
    expect(await warm(`${shopUrl}/`, fetchOptions)).toMatchObject({
      kind: 'not-stored',
      status: 200,
      reason: 'the store has no room or is busy',
      transient: 'cache',
    })
    full.mockRestore()
    expect(await warm(`${shopUrl}/`, fetchOptions)).toEqual({ kind: 'fresh' })
    expect(b.store.counters().products.count).toBe(1)
    expect(b.origin.requests).toEqual([])
  })
})
