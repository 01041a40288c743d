import { afterEach, describe, expect, it } from 'vitest'
import { realTiming } from '../../../src/lib/timing.ts'
import { deliverHandler, resumeDeliveries } from '../../../src/purge/deliver/deliver.ts'
import type { DeliverSettings } from '../../../src/purge/deliver/delivery.ts'
import type { Target } from '../../../src/purge/invalidation.ts'
import { clearPurges } from '../../../src/purge/log/prune.ts'
import { readProxyStates } from '../../../src/purge/deliver/proxy-state.ts'
import { consume } from '../../../src/queue/consume.ts'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { until } from '../../helpers/until.ts'
import { proxyDouble } from './proxy-double.ts'
import { openPurges } from '../purges.ts'

/** Generous times, so that a slow test machine does not look like a slow proxy. */
const settings: DeliverSettings = {
  timeout: 20_000,
  retryFor: 86_400_000,
  everythingAbove: 1000,
  settle: 20,
  slowAfter: 60_000,
}

interface Setting {
  proxies: readonly { name: string; url: string }[]
  /** The proxies in the worker's configuration, if different. */
  known?: readonly { name: string; url: string }[]
  settings?: Partial<DeliverSettings>
  onDelivered?: () => Promise<void>
}

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** Opens purges with a worker that delivers them, on a clock that the test can advance. */
async function delivering({ proxies, known = proxies, settings: more = {}, onDelivered = async () => {} }: Setting) {
  let ahead = 0
  const now = () => Date.now() + ahead
  const { purging, records } = await openPurges({ proxies: proxies.map(({ name }) => name), now })
  const queue = openQueue(records, now)
  const purge = (...targets: Target[]) => purging.invalidate({ targets, soft: false, source: 'cli', actor: null })
  const handler = deliverHandler({
    db: records.db,
    now,
    random: () => 0.5,
    timing: realTiming,
    proxies: known,
    settings: { ...settings, ...more },
    onDelivered,
  })
  const start = () => {
    const stop = new AbortController()
    const consumed = consume({
      queue,
      kind: 'consumer',
      transports: ['async'],
      handlers: [handler],
      stop: stop.signal,
      timing: realTiming,
      random: () => 0.5,
      memory: () => 0,
      onEvent: () => {},
    })
    ends.unshift(() => (stop.abort(), consumed))
  }
  const deliveries = (proxy: string) =>
    records.db.selectFrom('purge_deliveries').selectAll().where('proxy', '=', proxy).orderBy('purge_id').execute()
  const statuses = async (proxy: string) => [...new Set((await deliveries(proxy)).map(({ status }) => status))]
  return { records, queue, purge, start, deliveries, statuses, now, forward: (ms: number) => void (ahead += ms) }
}

const tags = (...list: string[]): Target => ({ scope: 'tags', tags: list })
const many = (count: number) => Array.from({ length: count }, (_, index) => `tag-${index}`)

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
  }, 60_000)

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
      expect(await readProxyStates(records.db, ['a'], now())).toMatchObject([
        { state: 'ok', pending: 0, circuit: 'closed' },
      ])
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
    await until(async () => (await deliveries('a'))[0]!.attempts >= 3)
    const before = proxy.requests.length
    for (const tag of many(50)) await purge(tags(tag))
    // The first attempt goes over all connections; the later ones are one request each.
    expect(before).toBeLessThanOrEqual(4 + 3)
    // On a slow machine fifty purges take seconds: each delay that ends allows one more request.
    expect(proxy.requests.length - before).toBeLessThanOrEqual(4)
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

  it('expired purges fail after a clear too: the failed message names them and their attempts', async () => {
    const proxy = await proxyDouble(() => 503)
    const { purge, start, queue, deliveries, forward, records } = await delivering({
      proxies: [{ name: 'a', url: proxy.url }],
    })
    await purge(
      tags(...many(4)),
      { scope: 'urls', urls: ['http://shop.example/y'] },
      { scope: 'type', type: 'products' },
    )
    start()
    await until(async () => (await deliveries('a'))[0]!.attempts >= 1)
    await clearPurges(records)
    forward(25 * 3_600_000)
    await until(async () => (await queue.listFailed({ limit: 10, offset: 0 })).total === 1)
    const { items } = await queue.listFailed({ limit: 10, offset: 0 })
    expect(items[0]!.error).toMatch(
      /^a: it answered 503 to BAN: ok\. Given up: (url|tag) .* \(purge [0-9a-f-]{36}\), .* and 1 more$/,
    )
    expect(items[0]!.attempts).toBe((await deliveries('a'))[0]!.attempts)
    expect(items[0]!.attempts).toBeGreaterThan(1)
  })

  it('an expired purge fails with its message on the transport failed, and can be retried from there', async () => {
    const proxy = await proxyDouble(() => 503)
    const { purge, start, queue, statuses, forward } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x'))
    forward(25 * 3_600_000)
    start()
    await until(async () => (await queue.listFailed({ limit: 10, offset: 0 })).total === 1)
    expect(await statuses('a')).toEqual(['failed'])
    proxy.answer = () => 200
    await queue.retryFailed(null)
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect((await queue.listFailed({ limit: 10, offset: 0 })).total).toBe(0)
  })

  it('failed purges are delivered when the proxy is reachable again', async () => {
    const proxy = await proxyDouble(() => 503)
    const { purge, start, statuses, forward, queue } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('old'))
    forward(25 * 3_600_000)
    await purge(tags('new'))
    start()
    await until(async () => (await queue.listFailed({ limit: 10, offset: 0 })).total === 1)
    expect(await statuses('a')).toEqual(['failed', 'pending'])
    proxy.answer = () => 200
    await until(async () => (await statuses('a')).join() === 'delivered')
    expect(proxy.requests.at(-1)!.headers['xkey']).toBe('old')
  })

  it('purges for a proxy that is no longer configured fail', async () => {
    const { purge, start, deliveries } = await delivering({
      proxies: [{ name: 'gone', url: 'http://127.0.0.1:1' }],
      known: [],
    })
    await purge(tags('x'))
    start()
    await until(async () => (await deliveries('gone'))[0]!.status === 'failed')
    expect((await deliveries('gone'))[0]!.error).toBe('it is no longer configured')
  })

  it('a worker that knows the proxy delivers purges that another worker failed without knowing it', async () => {
    const proxy = await proxyDouble()
    const known: { name: string; url: string }[] = []
    const { purge, start, statuses, records, now } = await delivering({
      proxies: [{ name: 'new', url: proxy.url }],
      known,
    })
    await purge(tags('x'))
    start()
    const messages = () => records.db.selectFrom('queue_messages').selectAll().execute()
    await until(async () => (await statuses('new')).join() === 'failed' && (await messages()).length === 0)
    known.push({ name: 'new', url: proxy.url })
    await resumeDeliveries({ db: records.db, now }, ['other'])
    expect(await messages()).toEqual([])
    await resumeDeliveries({ db: records.db, now }, ['new'])
    await until(async () => (await statuses('new')).join() === 'delivered')
  })

  it('onDelivered finishes before the purge counts as delivered', async () => {
    const proxy = await proxyDouble()
    const { promise, resolve } = Promise.withResolvers<void>()
    let calls = 0
    const { purge, start, statuses } = await delivering({
      proxies: [{ name: 'a', url: proxy.url }],
      onDelivered: async () => (calls++, promise),
    })
    await purge(tags('x'))
    start()
    await until(() => calls === 1)
    expect(await statuses('a')).toEqual(['pending'])
    resolve()
    await until(async () => (await statuses('a')).join() === 'delivered')
  })

  it('the response time of a purge is that of its slowest proxy', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses, records, deliveries } = await delivering({
      proxies: [
        { name: 'a', url: proxy.url },
        { name: 'b', url: proxy.url },
      ],
    })
    await purge(tags('x'))
    start()
    await until(
      async () => (await statuses('a')).join() === 'delivered' && (await statuses('b')).join() === 'delivered',
    )
    const [row] = await records.db.selectFrom('purges').select('response_time').execute()
    expect(row!.response_time).toBe(
      Math.max(...[...(await deliveries('a')), ...(await deliveries('b'))].map(({ response_time }) => response_time!)),
    )
  })
})
