import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort, startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { startRelay, type Relay } from '../helpers/relay.ts'
import { installed } from '../helpers/rivals.ts'
import { startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { until } from '../helpers/until.ts'
import { speak } from '../http/front/wire.ts'

/** Short enough that a test of a dead proxy ends soon, long enough for a slow machine. */
const purge = { timeout: '500ms', settleTime: '100ms' }

const hasVarnish = installed('varnishd')
if (!hasVarnish)
  console.warn('The real-Varnish tests are left out: varnishd is not installed (Debian: varnish, varnish-modules).')

let origin: Origin
let version = 1
beforeAll(async () => {
  origin = await startOrigin({
    otherwise: (request) => ({
      headers: {
        'content-type': 'text/html',
        'cache-control': 'public, s-maxage=3600',
        xkey: `all ${request.path.slice(1)}`,
      },
      body: `version ${version} of ${request.path}`,
    }),
  })
})
afterAll(() => origin.stop())

/** What a Varnish has for a path, and whether it was there before. */
async function look(varnish: { url: string }, path: string): Promise<string> {
  return (await exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example' } })).body.toString()
}

async function purgeTags(daemon: Daemon, tags: string): Promise<string> {
  const { answers } = await speak(
    daemon.port,
    `PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: ${tags}\r\nConnection: close\r\n\r\n`,
  )
  expect(answers[0]!.status).toBe(200)
  return answers[0]!.body
}

interface Delivery {
  proxy: string
  status: string
  attempts: number
  error: string | null
}

/** What the purge log says of the deliveries of the last purge. */
function deliveries(daemon: Daemon): Delivery[] {
  const database = new Database(join(daemon.projectDir, 'var/data/prod/records.sqlite'), { readonly: true })
  try {
    return database
      .prepare(
        'SELECT proxy, status, attempts, error FROM purge_deliveries WHERE purge_id = (SELECT max(id) FROM purges) ORDER BY proxy',
      )
      .all() as Delivery[]
  } finally {
    database.close()
  }
}

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
    version = 1
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

  /** Brings pages into Varnish, then changes the shop. */
  async function fill(...paths: string[]): Promise<void> {
    for (const path of paths) await look(varnish, path)
    version = 2
    for (const path of paths) expect(await look(varnish, path)).toMatch(/^version 1/)
  }

  it('tags are purged, other pages stay', async () => {
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
    'a purge that is answered while the proxy is %s is gone from it when it is back',
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

  it('frozen: the purge is tried again and is gone when it goes on', async () => {
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

  it('the daemon is killed while the proxy is away: the next one delivers', async () => {
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

  it('what Varnish was fetching when the purge came is not kept', async () => {
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
    let asked = 0
    origin.on('/in-flight', async () => {
      const body = `version ${version} of /in-flight`
      if (++asked === 1) await mayAnswer
      return { headers: { 'cache-control': 'public, s-maxage=3600', xkey: 'in-flight' }, body }
    })
    const visitor = look(varnish, '/in-flight')
    await until(() => asked === 1)
    version = 2
    await purgeTags(daemon, 'in-flight')
    await until(() => deliveries(daemon)[0]!.status === 'delivered')
    answer()
    expect(await visitor).toMatch(/^version 1/)
    expect(await look(varnish, '/in-flight')).toMatch(/^version 2/)
  })

  it('a soft purge: the old page once more while it is renewed', async () => {
    await fill('/soft')
    await speak(
      daemon.port,
      'PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: soft\r\nxkey-softpurge: 1\r\nConnection: close\r\n\r\n',
    )
    await until(() => isNew('/soft'))
  })

  it('a Varnish that lets nobody purge: the log says so, and it is tried again', async () => {
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

/** A VCL that does what Shopware's does, in its simplest form: no soft purge, no fence. */
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
    version = 1
    for (const path of Object.keys(requests)) await look(varnish, path)
    version = 2
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

describe.skipIf(!hasVarnish)('before and behind', () => {
  const salesChannel = { id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example' }
  const visit = async (url: string, path: string) => exchange(`${url}${path}`, { headers: { host: 'shop.example' } })

  it('Varnish before pagecache is shown the tags and is purged by them; a visitor never sees them', async () => {
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
      version = 1
      for (const _ of ['miss', 'hit']) {
        const { body, headers } = await visit(varnish.url, '/before')
        expect(body.toString()).toMatch(/^version 1/)
        expect(headers.get('xkey')).toBeNull()
      }
      // What Varnish asks for is stored behind it as well: after a restart of Varnish it comes from there.
      expect((await visit(daemon.url, '/before')).headers.get('cache-status')).toContain('hit')
      // The next ones come out of the memory of pagecache into Varnish.
      await visit(daemon.url, '/before-hit')
      expect((await visit(varnish.url, '/before-hit')).headers.get('cache-status')).toContain('hit')
      version = 2
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
    'one that is %j beside a healthy one: the healthy one is purged, and the other is seen to be down',
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
        version = 1
        const paths = ['/beside-1', '/beside-2', '/beside-3']
        for (const path of paths) for (const varnish of [healthy, away]) await look(varnish, path)
        version = 2
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

  it('Varnish behind pagecache: what it hands out between the two purges does not stay', async () => {
    const varnish = await startVarnishProxy(origin.host)
    const relay = await startRelay(varnish.port)
    // Pages come past the wire that is cut: pagecache goes on fetching while its purges do not arrive.
    const daemon = await startDaemon({
      config: {
        purge,
        salesChannels: [{ ...salesChannel, origin: varnish.url }],
        reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: relay.url, position: 'behind' }],
      },
    })
    try {
      version = 1
      await visit(daemon.url, '/behind')
      version = 2
      await relay.set('refusing')
      await purgeTags(daemon, 'behind')
      // The old page comes into the cache again, from a Varnish that was not told yet.
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
