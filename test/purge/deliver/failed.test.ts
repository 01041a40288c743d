import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { resumeDeliveries } from '../../../src/purge/deliver/deliver.ts'
import { clearPurges } from '../../../src/purge/log/prune.ts'
import { until } from '../../helpers/until.ts'
import { proxyDouble } from './proxy-double.ts'
import { delivering, many, tags } from './delivering.ts'

describe('a failed or late delivery', () => {
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

  it('a worker that starts delivers pending purges whose message the queue has given up', async () => {
    const proxy = await proxyDouble()
    const { purge, start, statuses, records, now } = await delivering({ proxies: [{ name: 'a', url: proxy.url }] })
    await purge(tags('x'))
    const given = { transport: 'failed' as const, failed_at: now(), crashes: 3 }
    await records.db.updateTable('queue_messages').set(given).execute()
    await resumeDeliveries({ db: records.db, now }, ['other'])
    start()
    await pause(100)
    expect(await statuses('a')).toEqual(['pending'])
    await resumeDeliveries({ db: records.db, now }, ['a'])
    await until(async () => (await statuses('a')).join() === 'delivered')
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
