import { mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daemonFile, formatVersion } from '../../src/config/running-daemon.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import { channel, closedPort, examine, server, shop } from './examine.ts'

describe('a sales channel', () => {
  it('passes if the shop responds to its public name and has a sitemap', async () => {
    const asked: string[] = []
    const port = await shop((request, response) => {
      asked.push(`${request.headers.host} ${request.url}`)
      response.statusCode = request.url === '/robots.txt' ? 404 : 200
      response.end('hello')
    })
    const { success, checks } = await examine({ server, salesChannels: [channel(port)] })
    expect(checks['origin of http://shop.example/de']).toMatchObject({
      status: 'passed',
      message: `http://127.0.0.1:${port} responds with 200`,
    })
    expect(checks['sitemap of http://shop.example/de']?.status).toBe('passed')
    expect(asked).toEqual(['shop.example /de/', 'shop.example /robots.txt', 'shop.example /de/sitemap.xml'])
    expect(success).toBe(true)
  })

  it('gets a warning if it is Shopware and the settings are those of a plain shop', async () => {
    const port = await shop((_, response) => response.writeHead(200, { 'sw-language-id': 'a' }).end())
    const name = 'shop of http://shop.example/de'
    const settings = { server, salesChannels: [channel(port)] }
    expect((await examine(settings)).checks[name]).toMatchObject({ status: 'warned', remedy: 'Set shop: shopware.' })
    expect((await examine({ ...settings, shop: 'shopware' })).checks[name]).toBeUndefined()
  })

  it('finds the sitemaps listed in robots.txt', async () => {
    const asked: string[] = []
    const port = await shop((request, response) => {
      asked.push(request.url ?? '')
      response.end(
        request.url === '/robots.txt'
          ? 'User-agent: *\nSitemap: http://shop.example/maps/a.xml\nsitemap:http://elsewhere.example/b.xml\n'
          : 'x',
      )
    })
    const { checks } = await examine({ server, salesChannels: [channel(port)] })
    expect(checks['sitemap of http://shop.example/de']?.status).toBe('passed')
    expect(asked).toEqual(['/de/', '/robots.txt', '/maps/a.xml'])
  })

  it.each([
    ['https://shop.example/de/a', 'https://shop.example'],
    ['http://www.shop.example/de/a', 'http://www.shop.example'],
    ['http://shop.example/en/a', 'http://shop.example'],
  ])('gets a warning if its sitemap lists only URLs like %s', async (loc, other) => {
    const asked = (own: string) => (request: IncomingMessage, response: ServerResponse) =>
      response.end(request.url === '/robots.txt' ? '' : `<urlset><url><loc> ${loc} </loc></url>${own}</urlset>`)
    const check = async (own = '') => {
      const { checks } = await examine({ server, salesChannels: [channel(await shop(asked(own)))] })
      return checks['sitemap of http://shop.example/de']
    }
    expect(await check()).toMatchObject({
      status: 'warned',
      message: `It lists no URL below http://shop.example/de, but URLs of ${other}: a warmup would fetch nothing.`,
      remedy: expect.stringContaining('url of this sales channel') as string,
    })
    expect(await check('<url><loc>http://shop.example/de/b</loc></url>')).toMatchObject({ status: 'passed' })
  })

  it('gets a warning if all sitemaps in robots.txt are on other hosts', async () => {
    const port = await shop((_, response) => response.end('Sitemap: https://shop.example/de/sitemap.xml\n'))
    const { checks } = await examine({ server, salesChannels: [channel(port)] })
    expect(checks['sitemap of http://shop.example/de']).toMatchObject({
      status: 'warned',
      message: expect.stringContaining('but URLs of https://shop.example') as string,
    })
  })

  it('gets a warning without a sitemap, or if the shop responds with an error', async () => {
    const port = await shop((_, response) => response.writeHead(503).end())
    const { success, checks } = await examine({ server, salesChannels: [channel(port, { sitemaps: ['/map.xml'] })] })
    expect(checks['origin of http://shop.example/de']).toMatchObject({
      status: 'warned',
      remedy: expect.any(String) as string,
    })
    expect(checks['sitemap of http://shop.example/de']).toMatchObject({
      status: 'warned',
      message: '/map.xml responds with 503.',
    })
    expect(success).toBe(true)
  })

  it('fails if the origin is unreachable, without printing its credentials', async () => {
    const port = await closedPort()
    const { success, checks } = await examine({
      server,
      salesChannels: [channel(port, { origin: `http://user:canary@127.0.0.1:${port}` })],
    })
    expect(checks['origin of http://shop.example/de']).toMatchObject({
      status: 'failed',
      message: `Could not reach http://***@127.0.0.1:${port}: connection refused`,
    })
    expect(success).toBe(false)
  })

  it('gets a warning on https without a trusted TLS terminator', async () => {
    const port = await shop((_, response) => response.end())
    const salesChannels = [channel(port, { url: 'https://shop.example/de' })]
    expect((await examine({ server, salesChannels })).checks['tls']).toMatchObject({
      status: 'warned',
      remedy: expect.stringContaining('trustedProxies') as string,
    })
    expect((await examine({ server, salesChannels, trustedProxies: ['10.0.0.1'] })).checks).not.toHaveProperty('tls')
  })
})

describe('the port', () => {
  it('passes when it is free', async () => {
    expect((await examine({ server: { port: await closedPort() } })).checks['port']).toMatchObject({
      status: 'passed',
      message: expect.stringContaining('is free') as string,
    })
  })

  it('fails if the daemon of this project does not answer, and does not call it another program', async () => {
    const port = await shop((request) => request.socket.destroy())
    const { checks } = await examine({ server: { port } }, async (directory) => {
      await mkdir(join(directory, 'var/data/prod'), { recursive: true })
      const daemon = {
        version: formatVersion,
        process: thisProcess(),
        port,
        shop: null,
        flags: [],
        settings: {},
        salt: '',
      }
      await writeFile(daemonFile(join(directory, 'var/data/prod')), JSON.stringify(daemon))
    })
    expect(checks['port']).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(
        // A machine that stalls may exceed the time limit of the check.
        /^The daemon of this project is running but not healthy at .*: (?:socket hang up|no response within 3 s)$/,
      ) as string,
    })
  })

  it('fails if the daemon of another project is running on it', async () => {
    const port = await shop((request, response) => response.writeHead(request.url === '/healthz' ? 200 : 404).end())
    expect((await examine({ server: { port } })).checks['port']).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('A daemon of another project') as string,
    })
  })

  it('fails if another program listens on it', async () => {
    const port = await shop((_, response) => response.writeHead(404).end())
    expect((await examine({ server: { port } })).checks['port']).toMatchObject({ status: 'failed' })
  })
})

it('warns about an untrusted reverse proxy in front of pagecache', async () => {
  const before = await shop((request, response) => {
    if (request.method === 'HEAD' && request.headers.host === 'shop.example')
      response.setHeader('cache-status', 'pagecache; hit; ttl=10')
    response.end('Invalidated 0 objects')
  })
  const beside = await shop((_, response) => response.end('Invalidated 0 objects'))
  const reverseProxies = Object.entries({ before, beside }).map(([name, port]) => ({
    name,
    type: 'varnish',
    url: `http://127.0.0.1:${port}`,
  }))
  const config = { server, reverseProxies, salesChannels: [channel(beside)] }
  const { checks } = await examine(config)
  expect(checks['tags for before']).toMatchObject({
    status: 'warned',
    remedy: expect.stringContaining('Add 127.0.0.1') as string,
  })
  expect(checks['tags for beside']).toBeUndefined()
  expect((await examine({ ...config, trustedProxies: ['127.0.0.0/8'] })).checks['tags for before']).toBeUndefined()
})

it('a reverse proxy passes if it accepts purges by tag; otherwise the finding says why', async () => {
  const answering = (status: number, text: string) =>
    shop((request, response) =>
      response.writeHead(request.method === 'PURGE' && request.headers['xkey'] ? status : 500).end(text),
    )
  const ports = {
    up: await answering(200, 'Invalidated 0 objects'),
    strict: await answering(403, 'Forbidden'),
    other: await answering(200, 'Purged'),
    none: await answering(405, 'no'),
    down: await closedPort(),
  }
  const reverseProxies = Object.entries(ports).map(([name, port]) => ({
    name,
    type: 'varnish',
    url: `http://127.0.0.1:${port}`,
  }))
  const { checks } = await examine({ server, reverseProxies })
  const statuses = Object.keys(ports).map((name) => checks[`reverse proxy ${name}`]?.status)
  expect(statuses).toEqual(['passed', 'failed', 'warned', 'failed', 'failed'])
  expect(checks['reverse proxy strict']).toMatchObject({ remedy: expect.stringContaining('purgers') as string })
  expect(checks['reverse proxy down']).toMatchObject({
    remedy: expect.stringContaining('retried for 1 d (purge.retryFor)') as string,
  })
})
