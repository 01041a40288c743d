import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, fetchToken } from '../helpers/api-client.ts'
import { exchange, type Answer } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'

/** The debug fields of an answer by the end of their names. */
function debugOf({ headers }: Answer): Record<string, string> {
  const prefix = 'x-pagecache-debug-'
  return Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [name.slice(prefix.length), value]),
  )
}

const visitor = '127.0.0.9'

describe('X-Pagecache-Debug', () => {
  let shop: Shop
  let token = ''
  beforeAll(async () => {
    shop = await openShop({
      config: {
        purgers: ['127.0.0.1', '127.0.0.6'],
        trustedProxies: ['127.0.0.5', '127.0.0.6'],
        cache: {
          esi: 'auto',
          types: [{ type: 'products', path: '/p/*' }],
          variants: { cookies: ['currency'], freeCookies: ['currency'] },
        },
      },
    })
    shop.origin.otherwise((request) =>
      page(request.path, {
        xkey: 'product-1 all',
        'cache-control': 'public, max-age=60, stale-while-revalidate=30',
        'cdn-cache-control': 'max-age=90, stale-while-revalidate=30',
      }),
    )
    token = await fetchToken(shop.daemon.url, await createClient(shop.daemon, 'debugger', 'read'))
  })
  afterAll(() => shop?.close())

  const ask = (path: string, headers: Record<string, string> = {}, localAddress = '127.0.0.1', method = 'GET') =>
    exchange(`${shop.daemon.url}${path}`, {
      method,
      localAddress,
      headers: { host: shop.host, 'x-pagecache-debug': '1', ...headers },
    })

  it('tells a purger what the cache knows about a miss and a hit', async () => {
    const known = {
      url: `${shop.daemon.url}/p/1`,
      key: expect.stringMatching(/^[\da-f-]{36} http:.*\/p\/1; cookie currency=EUR$/) as string,
      variants: 'cookie currency=EUR',
      tags: 'product-1 all',
      type: 'products',
      rule: 'products by path /p/*',
      lifetime: expect.stringMatching(/^fresh, 1 min 30 s in total, age .*; stale-while-revalidate 30 s$/) as string,
      'cache-control': expect.stringContaining('max-age') as string,
    }
    for (const status of ['fwd=miss', 'hit', 'hit']) {
      const answer = await ask('/p/1', { cookie: 'currency=EUR' })
      expect(answer.headers.get('cache-status')).toContain(status)
      expect(debugOf(answer)).toEqual(known)
      // Nothing between here and the operator may store it.
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
      expect(answer.headers.get('cdn-cache-control')).toBeNull()
    }
    const plain = await exchange(`${shop.daemon.url}/p/1`, { headers: { host: shop.host, cookie: 'currency=EUR' } })
    expect(plain.headers.get('cache-status')).toContain('hit')
    expect(debugOf(plain)).toEqual({})
    expect(plain.headers.get('cache-control')).not.toContain('no-store')
  })

  it('names the rule for a request that bypasses the cache, and for a page that cannot be stored', async () => {
    shop.origin.on('/private', { headers: { 'cache-control': 'private' }, body: 'mine' })
    expect(debugOf(await ask('/checkout/cart'))).toMatchObject({
      rule: 'bypass: a path that is never cached',
      tags: 'product-1 all',
    })
    expect(debugOf(await ask('/x', {}, '127.0.0.1', 'POST'))).toMatchObject({ rule: 'bypass: method POST' })
    const { rule, lifetime } = debugOf(await ask('/private'))
    expect([rule, lifetime]).toEqual([expect.stringMatching(/^not stored: /), undefined])
    expect(debugOf(await ask('/p/2', { 'if-none-match': '*', range: 'bytes=0-1' }))).toMatchObject({ type: 'products' })
    expect(debugOf(await ask('/p/2', {}, '127.0.0.1', 'HEAD'))).toMatchObject({ type: 'products' })
  })

  /** A command is another process, which logs the purge of stored pages only. */
  const isStored = (path: string) =>
    until(async () => (await shop.daemon.run('cache:list', '--limit', '500', '--json')).stdout.includes(path))

  it('tells the last purge of the URL', async () => {
    await ask('/p/3')
    await isStored('/p/3')
    expect(debugOf(await ask('/p/3'))).not.toHaveProperty('last-purge')
    expect((await shop.daemon.run('purge:tag', 'product-1')).code).toBe(0)
    await until(async () => 'last-purge' in debugOf(await ask('/p/3')))
    expect(debugOf(await ask('/p/3'))['last-purge']).toMatch(/^\d{4}-.*Z by tag product-1 from cli, invalidation /)
  })

  it('tells the tags and the last purge of the fragments of a page, also while it is stale', async () => {
    const lasting = { 'cache-control': 'public, s-maxage=600, stale-while-revalidate=600' }
    shop.origin.on(
      '/p/made',
      page('<esi:include src="/_esi/menu"/>', { ...lasting, 'surrogate-control': 'content="ESI/1.0"', xkey: 'made' }),
    )
    shop.origin.on('/_esi/menu', page('menu', { ...lasting, xkey: 'menu' }))
    await ask('/p/made')
    await isStored('/_esi/menu')
    shop.origin.on('/_esi/menu', { status: 503, body: 'away' })
    expect((await shop.daemon.run('purge:tag', 'menu', '--soft')).code).toBe(0)
    await until(async () => 'last-purge' in debugOf(await ask('/p/made')))
    expect(debugOf(await ask('/p/made'))).toMatchObject({
      tags: 'made menu',
      'last-purge': expect.stringContaining('by tag menu') as string,
    })
  })

  it('answers a client with a token of the scope read, as it answers a visitor, and keeps the token from the shop', async () => {
    const authorization = `Bearer ${token}`
    for (let time = 0; time < 2; time++) {
      const answer = await ask('/p/token', { authorization }, visitor)
      expect(debugOf(answer)).toMatchObject({ type: 'products', variants: 'none' })
    }
    expect((await ask('/p/token', {}, visitor)).headers.get('cache-status')).toContain('hit')
    await ask('/checkout/token', { authorization }, visitor)
    for (const path of ['/p/token', '/checkout/token'])
      expect(shop.origin.last(path).headers).not.toMatchObject({ authorization: expect.anything() as string })
  })

  it.each([
    ['no token', {}, visitor],
    ['an invalid token', { authorization: 'Bearer not.a.token' }, visitor],
    ['another scheme', { authorization: 'Basic YTpi' }, visitor],
    ['a forwarded address', { 'x-forwarded-for': '127.0.0.1' }, visitor],
    ['a proxy on the machine that is not trusted', { 'x-forwarded-for': visitor }, '127.0.0.1'],
    ['another proxy on the machine', { via: '1.1 nginx' }, '127.0.0.1'],
    ['a trusted proxy that forwards a visitor', { 'x-forwarded-for': visitor }, '127.0.0.5'],
    ['a trusted proxy that is no purger', {}, '127.0.0.5'],
    ['a trusted proxy that does not name the visitor', { via: '1.1 varnish' }, '127.0.0.6'],
    ['a trusted proxy that names the visitor in another field', { 'x-real-ip': visitor }, '127.0.0.6'],
    ['a page of another site', { origin: 'http://evil.example' }, '127.0.0.1'],
    ['another value', { 'x-pagecache-debug': 'yes' }, '127.0.0.1'],
  ])('shows nothing to others, and the shop never sees the field: %s', async (name, headers, address) => {
    const path = `/p/${encodeURIComponent(name)}`
    for (const each of [path, path, '/checkout/x']) {
      const answer = await ask(each, headers, address)
      expect([answer.status, debugOf(answer)]).toEqual([200, {}])
      expect(answer.headers.get('cache-control')).not.toContain('no-store')
    }
    for (const { headers: seen } of shop.origin.requests) expect(seen).not.toHaveProperty('x-pagecache-debug')
    expect(shop.origin.last('/checkout/x').headers['authorization']).toBe(
      (headers as Record<string, string>)['authorization'],
    )
  })

  it('is bounded and printable, whatever the shop sends', async () => {
    const tags = Array.from({ length: 400 }, (_, number) => `tag-${number}`).join(' ')
    shop.origin.on('/p/large', page('large', { xkey: tags, 'x-other': 'a' }))
    const answer = await ask('/p/large', { cookie: `currency=${'é\x80'.repeat(40)}` })
    const fields = Object.values(debugOf(answer))
    expect(fields.every((value) => value.length <= 1000 && /^[\x20-\x7e]*$/.test(value))).toBe(true)
    expect(debugOf(answer)['tags']).toMatch(/^tag-0 .*\.\.\. \(\d+ bytes\)$/)
  })
})
