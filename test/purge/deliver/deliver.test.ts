import { describe, expect, it } from 'vitest'
import { clearPurges } from '../../../src/purge/log/prune.ts'
import { readProxyStates } from '../../../src/purge/deliver/proxy-state.ts'
import { until } from '../../helpers/until.ts'
import { proxyDouble } from './proxy-double.ts'
import { delivering, many, tags } from './delivering.ts'

describe('delivery', () => {
  it('merges pending purges: fifty tags per request, each tag once', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags(...many(60)))
    await purge(tags(...many(60)))
    await purge({ scope: 'urls', urls: ['http://shop.example/x?a=1'] })
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    const sent = proxy.requests
      .filter(({ headers }) => headers['xkey'])
      .map(({ headers }) => headers['xkey']!.split(' '))
    expect(sent.map(({ length }) => length).toSorted()).toEqual([10, 50])
    expect(new Set(sent.flat())).toEqual(new Set(many(60)))
    expect(proxy.requests.filter(({ line }) => line === 'PURGE /x?a=1').map(({ headers }) => headers['host'])).toEqual([
      'shop.example',
    ])
  })

  it('sends one BAN of everything for a large backlog', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags(...many(1001)))
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(proxy.requests.map(({ line }) => line)).toEqual(['BAN /'])
  })

  it('a proxy that does not answer does not delay others', async () => {
    const silent = await proxyDouble(() => null)
    const healthy = await proxyDouble()
    const { purge, start, statuses, deliveries } = await delivering({
      proxies: [
        { name: 'silent', url: silent.url },
        { name: 'healthy', url: healthy.url },
      ],
      settings: { timeout: 60_000 },
    })
    start()
    for (const tag of many(20)) await purge(tags(tag))
    await until(async () => (await statuses('healthy')).join() === 'delivered')
    expect(await statuses('silent')).toEqual(['pending'])
    expect((await deliveries('silent')).every(({ attempts }) => attempts === 0)).toBe(true)
    silent.answer = () => 200
  })

  it.each([500, 503, 403, 302, null])(
    'status %s counts as a failure: retried until it succeeds, then sent twice',
    async (status) => {
      const proxy = await proxyDouble(() => status)
      const { purge, start, deliveries, records, now } = await delivering({
        proxies: [{ name: 'a', url: proxy.url }],
        settings: status === null ? { timeout: 300 } : {},
      })
      await purge(tags('x'))
      start()
      await until(async () => (await deliveries('a'))[0]!.attempts >= 2)
      expect(await readProxyStates(records.db, ['a'], now())).toMatchObject([
        { name: 'a', state: 'down', pending: 1, lastError: expect.stringMatching(/answer/) },
      ])
      proxy.requests.length = 0
      proxy.answer = () => 200
      await until(async () => (await deliveries('a'))[0]!.status === 'delivered')
      expect(proxy.requests.length).toBeGreaterThanOrEqual(2)
      expect(new Set(proxy.requests.map(({ headers }) => headers['xkey']))).toEqual(new Set(['x']))
      await until(async () =>
        expect(await readProxyStates(records.db, ['a'], now())).toMatchObject([
          { state: 'ok', pending: 0, circuit: 'closed' },
        ]),
      )
    },
  )

  it('repeats the requests after a slow response: the proxy may have been suspended', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses } = await delivering({
      proxies: [{ name: 'a', url: proxy.url }],
      settings: { slowAfter: -1 },
    })
    await purge(tags('x'))
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(proxy.requests.map(({ headers }) => headers['xkey'])).toEqual(['x', 'x'])
  })

  it('new purges do not cause requests to an unreachable proxy, and each retry starts with one request', async () => {
    const proxy = await proxyDouble(() => 503)
    const { purge, start, deliveries } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags(...many(200)))
    start()
    const attempts = async () => (await deliveries('a'))[0]!.attempts
    await until(async () => (await attempts()) >= 3)
    for (const tag of many(50)) await purge(tags(tag))
    // The first attempt goes over all four connections; the later ones, as many as the time allows, are one request each.
    const requests = proxy.requests.length
    expect(requests).toBeLessThanOrEqual(4 + (await attempts()))
  })

  it('a refused request becomes a purge of everything', async () => {
    const proxy = await proxyDouble(({ line }) => (line.startsWith('PURGE') ? 431 : 200))
    const { purge, start, statuses } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x', 'y'))
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(proxy.requests.map(({ line }) => line)).toEqual(['PURGE /', 'BAN /'])
  })

  it('a tag outside Latin-1 is sent as its UTF-8 bytes', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('größe-Ω'))
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(Buffer.from(proxy.requests[0]!.headers['xkey']!, 'latin1').toString()).toBe('größe-Ω')
  })

  it('purges deleted from the log are delivered unchanged', async () => {
    const proxy = await proxyDouble()
    const { purge, start, deliveries, records } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x'), { scope: 'urls', urls: ['http://shop.example/y'] })
    await clearPurges(records)
    start()
    await until(async () => (await deliveries('a')).length === 0)
    expect(
      proxy.requests.map(({ line, headers }) => `${line} ${headers['xkey'] ?? headers['host']}`).toSorted(),
    ).toEqual(['PURGE / x', 'PURGE /y shop.example'])
  })

  it.each([200, 503])('the log is cleared during a request that is answered with %s', async (status) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const proxy = await proxyDouble(async () => (await promise, status))
    const { purge, start, deliveries, records } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x'))
    start()
    await until(() => proxy.requests.length === 1)
    expect(await clearPurges(records)).toBe(1)
    resolve()
    if (status !== 200) await until(async () => (await deliveries('a'))[0]!.attempts >= 2)
    proxy.answer = () => 200
    await until(async () => (await deliveries('a')).length === 0)
    expect(new Set(proxy.requests.map(({ headers }) => headers['xkey']))).toEqual(new Set(['x']))
    expect(
      await records.db.selectFrom('purge_hours').select(['purges', 'responses', 'response_time']).execute(),
    ).toEqual([{ purges: 0, responses: 0, response_time: 0 }])
  })

  it('a delivery of an older daemon without a key becomes a purge of everything', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses, records } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x'))
    await records.db.updateTable('purge_deliveries').set({ created_at: null, kind: null, key: null }).execute()
    start()
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(proxy.requests.map(({ line }) => line)).toEqual(['BAN /'])
  })
})
