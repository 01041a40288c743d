import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { documentedVcl, hasVarnish, oldVcl, startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'

const fields: Record<string, Record<string, string>> = {
  '/vary-all': { 'cache-control': 'public, s-maxage=600', vary: '*' },
  '/vary-list': { 'cache-control': 'public, s-maxage=600', vary: 'Accept-Encoding, *' },
  '/strict': { 'cache-control': 'public, max-age=1, must-revalidate' },
  '/strict-proxy': { 'cache-control': 'public, max-age=1, proxy-revalidate' },
}

/** By default, a TLS terminator on the machine may name the visitor's site. */
const withoutForwarders = (vcl: string) => vcl.replace(/^acl forwarders \{[^}]*\}/m, 'acl forwarders { "192.0.2.1"; }')

it('docs/varnish.vcl for Varnish 6.0 uses no function that this version lacks', () => {
  expect(oldVcl).not.toBe(documentedVcl)
  const calls = [...oldVcl.matchAll(/\b(?:std|var|xkey|vcl)\.\w+(?=\()/g)].map(([call]) => call)
  expect([...new Set(calls)].toSorted()).toEqual([
    'std.querysort',
    'var.get',
    'var.global_get',
    'var.global_set',
    'var.set',
    'xkey.purge',
    'xkey.softpurge',
  ])
})

it.skipIf(!hasVarnish)('the subroutine of docs/varnish.md for Varnish 6.0 bans pages too', async () => {
  let fetches = 0
  const origin = await startOrigin({
    otherwise: () => ({ headers: { 'cache-control': 'public, s-maxage=600' }, body: `fetch ${++fetches}` }),
  })
  onTestFinished(() => origin.stop())
  const varnish = await startVarnishProxy(origin.host, undefined, [], oldVcl)
  onTestFinished(() => varnish.stop())
  const ask = (path: string, method = 'GET') =>
    exchange(`${varnish.url}${path}`, { method, headers: { host: 'shop.example' } })
  const read = async (path: string) => (await ask(path)).body.toString()
  const [a, b] = [await read('/a'), await read('/b')]
  expect([await read('/a'), await read('/b')]).toEqual([a, b])
  expect((await ask('/a.*', 'BAN')).status).toBe(200)
  expect([(await read('/a')) === a, await read('/b')]).toEqual([false, b])
  expect((await ask('/', 'BAN')).status).toBe(200)
  expect(await read('/b')).not.toBe(b)
})

describe.skipIf(!hasVarnish)('docs/varnish.vcl', () => {
  let origin: Origin
  let varnish: Varnish
  let fetches = 0
  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: ({ path }) => ({
        headers: { 'content-type': 'text/html', ...fields[path] },
        body: `fetch ${++fetches}`,
      }),
    })
    varnish = await startVarnishProxy(origin.host)
  })
  afterAll(async () => {
    await varnish.stop()
    await origin.stop()
  })

  const get = (path: string) => exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example' } })
  const read = async (path: string) => (await get(path)).body.toString()

  it.each(['/vary-all', '/vary-list'])('shares no page that varies by everything: %s', async (path) => {
    const bodies = [await read(path), await read(path), await read(path)]
    expect(new Set(bodies).size).toBe(3)
  })

  it.each(['/strict', '/strict-proxy'])('serves no expired page that must be revalidated: %s', async (path) => {
    const first = await read(path)
    const ages: number[] = []
    const next = async () => {
      const { headers, body } = await get(path)
      ages.push(Number(headers.get('age') ?? 0))
      return body.toString()
    }
    // Between two requests the page becomes older than its lifetime of one second.
    await until(async () => expect(await next()).not.toBe(first))
    expect(Math.max(...ages)).toBeLessThan(2)
  })
})

it.skipIf(!hasVarnish)('docs/varnish.vcl shares no answer to cookies that is not public', async () => {
  const origin = await startOrigin({
    otherwise: ({ path, headers }) => ({
      headers: path === '/silent' ? {} : { 'cache-control': `${path.slice(1)}max-age=600` },
      body: `for ${headers['cookie'] ?? 'all'}`,
    }),
  })
  onTestFinished(() => origin.stop())
  const varnish = await startVarnishProxy(origin.host)
  onTestFinished(() => varnish.stop())
  const read = async (path: string, fields = {}) =>
    (await exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example', ...fields } })).body.toString()
  for (const path of ['/', '/silent']) {
    expect([await read(path, { cookie: 'session=a' }), await read(path, { cookie: 'session=b' })]).toEqual([
      'for session=a',
      'for session=b',
    ])
    expect([await read(path), await read(path, { cookie: 'session=c' })]).toEqual(['for all', 'for all'])
  }
  const shared = await read('/public,', { cookie: 'session=a' })
  expect(await read('/public,', { cookie: 'session=b' })).toBe(shared)
})

describe.skipIf(!hasVarnish)('what a request to docs/varnish.vcl says in the name of a proxy', () => {
  const named = {
    'x-forwarded-host': 'other.example',
    'x-forwarded-port': '444',
    'x-forwarded-prefix': '/other',
    'x-forwarded-proto': 'https',
    forwarded: 'host=other.example',
  }
  const open = async (edit?: (vcl: string) => string) => {
    const origin = await startOrigin({
      otherwise: ({ headers }) => ({
        headers: { 'cache-control': 'public, s-maxage=600' },
        body: JSON.stringify(
          [...Object.keys(named), 'surrogate-capability'].filter((name) => headers[name] !== undefined),
        ),
      }),
    })
    onTestFinished(() => origin.stop())
    const varnish = await startVarnishProxy(origin.host, edit)
    onTestFinished(() => varnish.stop())
    return async (fields = {}) =>
      JSON.parse(
        (await exchange(`${varnish.url}/a`, { headers: { host: 'shop.example', ...fields } })).body.toString(),
      ) as string[]
  }

  it('is removed where a visitor names another site', async () => {
    const ask = await open(withoutForwarders)
    expect([await ask(named), await ask()]).toEqual([[], []])
  })

  const esi = { 'surrogate-capability': 'pagecache="ESI/1.0"' }

  it('is removed where a visitor offers to assemble pages', async () => {
    const ask = await open(withoutForwarders)
    expect([await ask(esi), await ask()]).toEqual([[], []])
  })

  it('is passed on from a pagecache that assembles pages, and a page with markup is none for others', async () => {
    const ask = await open()
    expect([await ask(esi), await ask()]).toEqual([['surrogate-capability'], []])
  })

  it('is passed on from a TLS terminator, and a page over http is none for https', async () => {
    const ask = await open()
    expect([await ask({ 'x-forwarded-proto': 'http' }), await ask(named), await ask()]).toEqual([
      ['x-forwarded-proto'],
      Object.keys(named),
      [],
    ])
  })
})
