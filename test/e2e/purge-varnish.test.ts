import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Daemon, startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { type Relay, startRelay } from '../helpers/relay.ts'
import { hasVarnish, startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'
import { speak } from '../http/front/wire.ts'
import { deliveries, look, origin, purge, purgeTags, shop, useOrigin } from './varnish-purges.ts'

useOrigin()

describe.skipIf(!hasVarnish)('with a real Varnish', () => {
  let varnish: Varnish
  let relay: Relay
  let daemon: Daemon
  beforeAll(async () => {
    varnish = await startVarnishProxy(origin.host)
    relay = await startRelay(varnish.port)
    daemon = await startDaemon({ config: config(relay) })
  })
  beforeEach(async () => {
    shop.version = 1
    await relay.set('open')
  })
  afterAll(async () => {
    await daemon?.stop()
    await relay?.stop()
    await varnish?.stop()
  })

  const config = ({ url }: { url: string }) => ({
    purge,
    salesChannels: [{ id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example', origin: origin.url }],
    reverseProxies: [{ name: 'varnish-1', type: 'varnish', url }],
  })
  const isOld = async (path: string) => (await look(varnish, path)).startsWith('version 1')
  const isNew = async (path: string) => (await look(varnish, path)).startsWith('version 2')

  /** Caches pages in Varnish, then changes the shop. */
  async function fill(...paths: string[]): Promise<void> {
    for (const path of paths) await look(varnish, path)
    shop.version = 2
    for (const path of paths) expect(await look(varnish, path)).toMatch(/^version 1/)
  }

  it('tagged pages are purged, others stay', async () => {
    await fill('/healthy-a', '/healthy-b', '/healthy-c')
    await purgeTags(daemon, 'healthy-a healthy-b')
    await until(() => isNew('/healthy-a'))
    await until(() => isNew('/healthy-b'))
    expect(await isOld('/healthy-c')).toBe(true)
  })

  it('a URL is purged by the name of its shop', async () => {
    const ask = async (path: string, cookie: string) =>
      (await exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example', cookie } })).body.toString()
    await ask('/url-variants', 'sw-cache-hash=a')
    await ask('/url-variants', 'session=2; sw-cache-hash=b')
    await fill('/url-a?b=2&a=1&utm_source=mail', '/url-b')
    expect(await ask('/url-variants', 'sw-cache-hash=a')).toMatch(/^version 1/)
    expect(await ask('/url-variants', 'sw-cache-hash=b')).toMatch(/^version 1/)
    await speak(daemon.port, 'PURGE /url-variants HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n')
    await speak(daemon.port, 'PURGE /url-a?a=1&b=2 HTTP/1.1\r\nHost: varnish\r\nConnection: close\r\n\r\n')
    await until(() => isNew('/url-a?b=2&a=1'))
    expect(await ask('/url-variants', 'sw-cache-hash=a')).toMatch(/^version 2/)
    expect(await ask('/url-variants', 'sw-cache-hash=b; session=1')).toMatch(/^version 2/)
    expect(await isOld('/url-b')).toBe(true)
  })

  it('BAN of an expression, BAN of everything', async () => {
    await fill('/ban-a/1', '/ban-a/2', '/ban-b')
    await speak(daemon.port, 'BAN /ban-a/.* HTTP/1.1\r\nHost: varnish\r\nConnection: close\r\n\r\n')
    await until(() => isNew('/ban-a/1'))
    await until(() => isNew('/ban-a/2'))
    expect(await isOld('/ban-b')).toBe(true)
    await speak(daemon.port, 'BAN / HTTP/1.1\r\nHost: varnish\r\nConnection: close\r\n\r\n')
    await until(() => isNew('/ban-b'))
  })

  it.each(['refusing', 'silent'] as const)(
    'a page purged while the proxy is %s is purged when the proxy is back',
    async (mode) => {
      await fill(`/away-${mode}`)
      await relay.set(mode)
      await purgeTags(daemon, `away-${mode}`)
      expect(await isOld(`/away-${mode}`)).toBe(true)
      await until(() => deliveries(daemon)[0]!.attempts > 1)
      await relay.set('open')
      await until(() => isNew(`/away-${mode}`))
      await until(() => deliveries(daemon)[0]!.status === 'delivered')
    },
  )

  it('frozen: the purge is retried and delivered when the proxy continues', async () => {
    await fill('/frozen')
    varnish.freeze()
    try {
      await purgeTags(daemon, 'frozen')
      await until(() => deliveries(daemon)[0]!.attempts > 0)
      expect(deliveries(daemon)[0]).toMatchObject({ status: 'pending', error: 'no answer within 0.5 s' })
    } finally {
      varnish.thaw()
    }
    await until(() => isNew('/frozen'))
    await until(() => deliveries(daemon)[0]!.status === 'delivered')
  })

  it('killed, and back with an empty cache', async () => {
    await fill('/killed')
    await varnish.kill()
    await purgeTags(daemon, 'killed')
    await until(() => deliveries(daemon)[0]!.attempts > 0)
    await varnish.start()
    expect(await look(varnish, '/killed')).toBe('version 2 of /killed')
    await until(() => deliveries(daemon)[0]!.status === 'delivered')
  })

  it('the daemon is killed while the proxy is unreachable: the next daemon delivers', async () => {
    await fill('/durable')
    await relay.set('silent')
    await purgeTags(daemon, 'durable')
    const { projectDir, port } = daemon
    daemon.kill('SIGKILL')
    await daemon.ended
    await relay.set('open')
    expect(await isOld('/durable')).toBe(true)
    daemon = await startDaemon({ projectDir, port, config: config(relay) })
    await until(() => isNew('/durable'))
  })

  it('a page that Varnish was fetching during the purge is not kept', async () => {
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
    let asked = 0
    origin.on('/in-flight', async () => {
      const body = `version ${shop.version} of /in-flight`
      if (++asked === 1) await mayAnswer
      return { headers: { 'cache-control': 'public, s-maxage=3600', xkey: 'in-flight' }, body }
    })
    const visitor = look(varnish, '/in-flight')
    await until(() => asked === 1)
    shop.version = 2
    await purgeTags(daemon, 'in-flight')
    await until(() => deliveries(daemon)[0]!.status === 'delivered')
    answer()
    expect(await visitor).toMatch(/^version 1/)
    expect(await look(varnish, '/in-flight')).toMatch(/^version 2/)
  })

  it('a soft purge: the stale page is served once more while it is revalidated', async () => {
    await fill('/soft')
    await speak(
      daemon.port,
      'PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: soft\r\nxkey-softpurge: 1\r\nConnection: close\r\n\r\n',
    )
    await until(() => isNew('/soft'))
  })

  it('a Varnish that rejects the purge: the log says so, and the purge is retried', async () => {
    const strict = await startVarnishProxy(origin.host, (vcl) =>
      vcl.replace(/(acl purgers \{\n) {2}"127\.0\.0\.1";/, '$1  "192.0.2.1";'),
    )
    const other = await startDaemon({ config: config(strict) })
    try {
      await purgeTags(other, 'strict')
      await until(() => deliveries(other)[0]!.attempts > 1)
      expect(deliveries(other)[0]).toMatchObject({
        status: 'pending',
        error: expect.stringContaining('it answered 403 to PURGE'),
      })
    } finally {
      await other.stop()
      await strict.stop()
    }
  })
})
