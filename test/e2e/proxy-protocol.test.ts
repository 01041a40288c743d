import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { createCertificate } from '../helpers/certificate.ts'
import { answers, startChild, type Child } from '../helpers/child.ts'
import { runCommand } from '../helpers/commands.ts'
import { freePort } from '../helpers/daemon.ts'
import { exchange, isHit } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { installed, rivalEnvironment } from '../helpers/rivals.ts'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'
import { tagged } from '../http/api/shop.ts'
import { malformed } from '../http/front/proxy-headers.ts'
import { speak } from '../http/front/wire.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const ids = ['0190c0de-0000-7000-8000-000000000001', '0190c0de-0000-7000-8000-000000000002']

const canRun = installed('haproxy') && installed('openssl')
if (!canRun) console.warn('The tests with a real HAProxy are left out: haproxy or openssl is not installed.')

/** The ways in which HAProxy sends the header. */
const ways = {
  v1: { bind: '', mode: 'tcp', server: 'send-proxy' },
  v2: { bind: '', mode: 'http', server: 'send-proxy-v2 proxy-v2-options crc32c,unique-id check inter 100' },
  tls: { bind: 'ssl crt CERTIFICATE', mode: 'tcp', server: 'send-proxy-v2-ssl-cn proxy-v2-options crc32c,authority' },
} as const
type Way = keyof typeof ways

describe.skipIf(!canRun)('behind HAProxy, with several processes', () => {
  let files: Scratch | undefined
  let origin: Origin
  let daemon: Child
  let haproxy: Child
  let projectDir = ''
  let daemonPort = 0
  const ports: Record<Way, number> = { v1: 0, v2: 0, tls: 0 }
  const host = { host: 'shop.example' }
  const visitor = '127.0.0.2'
  const purger = '127.0.0.3'

  /** Sends a request through HAProxy from an address. */
  const ask = (way: Way, path: string, localAddress = visitor, more: { method?: string; headers?: object } = {}) =>
    exchange(`${way === 'tls' ? 'https' : 'http'}://127.0.0.1:${ports[way]}${path}`, {
      ...more,
      headers: { ...host, ...more.headers },
      localAddress,
    })

  beforeAll(async () => {
    origin = await startOrigin({ otherwise: () => tagged('all') })
    files = await scratch('haproxy')
    projectDir = files.path
    daemonPort = await freePort()
    const channels = ['http', 'https'].map((scheme, index) => ({
      id: ids[index],
      url: `${scheme}://shop.example`,
      origin: origin.url,
    }))
    const server = { port: daemonPort, processes: 2, proxyProtocol: true }
    const config = { server, trustedProxies: ['127.0.0.1'], purgers: [purger], salesChannels: channels }
    await writeFile(join(projectDir, 'pagecache.yaml'), stringify(config))
    daemon = await startChild([process.execPath, program, 'serve'], {
      cwd: projectDir,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: projectDir },
      ready: (logs) => logs.includes('pagecache listens on'),
    })
    const { pem } = createCertificate(projectDir, 'shop.example')
    const frontends = await Promise.all(
      Object.entries(ways).map(async ([way, { bind, mode, server: options }]) => {
        const port = (ports[way as Way] = await freePort())
        return `listen ${way}\n bind 127.0.0.1:${port} ${bind.replace('CERTIFICATE', pem)}\n mode ${mode}\n server daemon 127.0.0.1:${daemonPort} ${options}\n`
      }),
    )
    const limits = 'defaults\n timeout connect 30s\n timeout client 60s\n timeout server 60s\n'
    const file = join(projectDir, 'haproxy.cfg')
    await writeFile(file, `global\n maxconn 500\n${limits}${frontends.join('')}`)
    haproxy = await startChild(['haproxy', '-db', '-f', file], {
      env: rivalEnvironment,
      ready: () => answers(`http://127.0.0.1:${ports.v1}/healthz`),
    })
  })
  afterAll(async () => {
    await haproxy?.stop()
    await daemon?.stop()
    await origin?.stop()
    await files?.discard()
  })

  it.each([
    ['v1', 'http'],
    ['v2', 'http'],
    ['tls', 'https'],
  ] as const)(
    '%s: the shop learns address and scheme of the visitor, not what the visitor claims',
    async (way, scheme) => {
      const claims = { 'x-forwarded-for': '192.0.2.66', 'x-forwarded-proto': 'ftp', 'x-forwarded-host': 'evil.example' }
      for (const [path, address] of [
        [`/${way}`, visitor],
        ['/checkout/cart', visitor],
        ['/checkout/cart', '127.0.0.4'],
      ] as const) {
        expect((await ask(way, path, address, { headers: claims })).status).toBe(200)
        expect(origin.last(path).headers).toMatchObject({
          host: 'shop.example',
          'x-forwarded-for': address,
          'x-forwarded-proto': scheme,
          'x-forwarded-host': 'shop.example',
        })
      }
      await until(async () => isHit(await ask(way, `/${way}`)))
    },
  )

  it('keeps http and https apart', async () => {
    await ask('v1', '/apart')
    await ask('tls', '/apart')
    expect(origin.hits('/apart')).toBe(2)
  })

  it.each(['v1', 'v2', 'tls'] as const)('%s: purges by the rules for the address of the client', async (way) => {
    const purge = (address: string, headers = {}) => ask(way, '/kept', address, { method: 'PURGE', headers })
    // HAProxy's own address is not in the list either.
    for (const address of [visitor, '127.0.0.1'])
      expect((await purge(address, { 'x-forwarded-for': purger })).status).toBe(403)
    expect((await purge(purger)).status).toBe(200)
    expect((await purge(purger, { 'content-length': '0' })).status).toBe(200)
    const { stdout } = await runCommand(['invalidation-log:recent', '--json', '--limit', '1'], projectDir)
    expect(JSON.parse(stdout)).toMatchObject({ items: [{ source: 'purge-method', actor: purger }] })
  })

  it('closes connections without a header, counts them, and HAProxy still finds the daemon healthy', async () => {
    for (const [name, bytes] of Object.entries(malformed).filter((_, index) => index % 7 === 0)) {
      const request = Buffer.from('GET /smuggled HTTP/1.1\r\nHost: shop.example\r\n\r\n')
      const { answers: got, closed } = await speak(daemonPort, Buffer.concat([bytes, request]))
      expect({ name, got, closed }).toEqual({ name, got: [], closed: true })
    }
    expect(origin.hits('/smuggled')).toBe(0)
    const metrics = String((await ask('v2', '/metrics', visitor)).body)
    expect(/pagecache_connections_rejected_total\{reason="malformed"\} (\d+)/.exec(metrics)?.[1]).toBe('7')
    expect(metrics).toContain('pagecache_connections_rejected_total{reason="untrusted"} 0')
    expect(haproxy.logs()).not.toContain('is DOWN')
    expect(daemon.logs().match(/did not begin with a PROXY header/g)?.length).toBeLessThanOrEqual(2)
  })
})
