import { describe, expect, it } from 'vitest'
import { freePort, startDaemon } from '../helpers/daemon.ts'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { startRelay } from '../helpers/relay.ts'
import { hasVarnish, startVarnishProxy } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'
import { speak } from '../http/front/wire.ts'
import { deliveries, look, origin, purge, purgeTags, shop, useOrigin } from './varnish-purges.ts'

useOrigin()

/** A minimal VCL like Shopware's: no soft purge, no fence. */
const plainVcl = (vcl: string) => `vcl 4.1;
import xkey;
${/backend default \{[^}]*\}/.exec(vcl)![0]}
sub vcl_recv {
  if (req.method == "PURGE") {
    if (req.http.xkey) { return (synth(200, "Invalidated " + xkey.purge(req.http.xkey) + " objects")); }
    return (purge);
  }
  if (req.method == "BAN") {
    ban("req.url ~ " + req.url);
    return (synth(200, "BAN URLs containing (" + req.url + ") done."));
  }
}
`

it.skipIf(!hasVarnish)("a VCL like Shopware's takes tags, URLs, bans, and a soft purge as a hard one", async () => {
  const varnish = await startVarnishProxy(origin.host, plainVcl)
  const daemon = await startDaemon({
    config: {
      purge,
      salesChannels: [{ id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example', origin: origin.url }],
      reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: varnish.url }],
    },
  })
  try {
    const requests: Record<string, string> = {
      '/plain-tag': 'PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: plain-tag',
      '/plain-soft': 'PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey-softpurge: plain-soft',
      '/plain-url': 'PURGE /plain-url HTTP/1.1\r\nHost: varnish',
      '/plain-ban/1': 'BAN /plain-ban HTTP/1.1\r\nHost: varnish',
      '/plain-all': 'BAN / HTTP/1.1\r\nHost: varnish',
    }
    shop.version = 1
    for (const path of Object.keys(requests)) await look(varnish, path)
    shop.version = 2
    for (const [path, request] of Object.entries(requests)) {
      expect(await look(varnish, path)).toMatch(/^version 1/)
      await speak(daemon.port, `${request}\r\nConnection: close\r\n\r\n`)
      await until(async () => (await look(varnish, path)).startsWith('version 2'))
    }
  } finally {
    await daemon.stop()
    await varnish.stop()
  }
})

describe.skipIf(!hasVarnish)('in front of and behind pagecache', () => {
  const salesChannel = { id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example' }
  const visit = async (url: string, path: string) => exchange(`${url}${path}`, { headers: { host: 'shop.example' } })

  it('Varnish in front of pagecache receives tags and is purged by them; visitors never see them', async () => {
    const port = await freePort()
    const varnish = await startVarnishProxy(`127.0.0.1:${port}`, (vcl) =>
      vcl.replace(/(acl tag_readers \{\n) {2}"127\.0\.0\.1";/, '$1  "192.0.2.1";'),
    )
    const daemon = await startDaemon({
      port,
      config: {
        purge,
        trustedProxies: ['127.0.0.1'],
        salesChannels: [{ ...salesChannel, origin: origin.url }],
        reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: varnish.url }],
      },
    })
    try {
      shop.version = 1
      for (const _ of ['miss', 'hit']) {
        const { body, headers } = await visit(varnish.url, '/before')
        expect(body.toString()).toMatch(/^version 1/)
        expect(headers.get('xkey')).toBeNull()
      }
      // pagecache stores the pages that Varnish requests, and serves them after a restart of Varnish.
      expect((await visit(daemon.url, '/before')).headers.get('cache-status')).toContain('hit')
      // The next pages reach Varnish from pagecache's memory.
      await untilHit(() => visit(daemon.url, '/before-hit'))
      expect((await visit(varnish.url, '/before-hit')).headers.get('cache-status')).toContain('hit')
      shop.version = 2
      await purgeTags(daemon, 'before before-hit')
      await until(async () => (await visit(varnish.url, '/before')).body.toString().startsWith('version 2'))
      await until(async () => (await visit(varnish.url, '/before-hit')).body.toString().startsWith('version 2'))
      expect(
        (await exchange(`${daemon.url}/before`, { headers: { host: 'shop.example' } })).headers.get('xkey'),
      ).toBeNull()
    } finally {
      await daemon.stop()
      await varnish.stop()
    }
  })

  it.each(['silent', { slow: 2000 }] as const)(
    'one that is %j next to a healthy one: the healthy one is purged, and the other is reported as down',
    async (mode) => {
      const [healthy, away] = await Promise.all([startVarnishProxy(origin.host), startVarnishProxy(origin.host)])
      const relay = await startRelay(away.port, mode)
      const reverseProxies = [
        { name: 'away', type: 'varnish', url: relay.url },
        { name: 'healthy', type: 'varnish', url: healthy.url },
      ]
      const daemon = await startDaemon({
        config: { purge, salesChannels: [{ ...salesChannel, origin: origin.url }], reverseProxies },
      })
      try {
        shop.version = 1
        const paths = ['/beside-1', '/beside-2', '/beside-3']
        for (const path of paths) for (const varnish of [healthy, away]) await look(varnish, path)
        shop.version = 2
        for (const path of paths) {
          await purgeTags(daemon, path.slice(1))
          await until(async () => (await look(healthy, path)).startsWith('version 2'))
        }
        await until(() => deliveries(daemon)[0]!.attempts > 0)
        expect(deliveries(daemon)).toMatchObject([
          { proxy: 'away', status: 'pending' },
          { proxy: 'healthy', status: 'delivered' },
        ])
        const { stdout } = await daemon.run('reverse-proxy:stats', '--json')
        expect(JSON.parse(stdout)).toMatchObject({
          proxies: [
            { name: 'away', state: 'down', lastError: 'no answer within 0.5 s' },
            { name: 'healthy', state: 'ok', pending: 0 },
          ],
        })
        const doctor = JSON.parse((await daemon.run('doctor', '--json')).stdout) as {
          checks: { name: string; status: string; message: string }[]
        }
        expect(doctor.checks.find(({ name }) => name === 'purges of away')).toMatchObject({
          status: 'warned',
          message: expect.stringMatching(/^\d+ pending.*no answer within 0\.5 s/),
        })
        await relay.set('open')
        for (const path of paths) await until(async () => (await look(away, path)).startsWith('version 2'))
      } finally {
        await daemon.stop()
        await relay.stop()
        await Promise.all([healthy.stop(), away.stop()])
      }
    },
  )

  it('Varnish behind pagecache: a stale page that it returns before its purge does not stay cached', async () => {
    const varnish = await startVarnishProxy(origin.host)
    const relay = await startRelay(varnish.port)
    // Pages do not pass the relay: pagecache keeps fetching while its purges fail.
    const daemon = await startDaemon({
      config: {
        purge,
        salesChannels: [{ ...salesChannel, origin: varnish.url }],
        reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: relay.url, position: 'behind' }],
      },
    })
    try {
      shop.version = 1
      await visit(daemon.url, '/behind')
      shop.version = 2
      await relay.set('refusing')
      await purgeTags(daemon, 'behind')
      // The old page is cached again, from a Varnish that has not been purged yet.
      expect((await visit(daemon.url, '/behind')).body.toString()).toMatch(/^version 1/)
      await relay.set('open')
      await until(() => deliveries(daemon)[0]!.status === 'delivered')
      expect((await visit(daemon.url, '/behind')).body.toString()).toMatch(/^version 2/)
    } finally {
      await daemon.stop()
      await relay.stop()
      await varnish.stop()
    }
  })
})
