import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { createServer, type RequestListener } from 'node:http'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { describe, expect, it, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { doctor } from '../../src/operations/doctor.ts'
import { allScopes, performOperation } from '../../src/operations/operation.ts'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** Examines a project with this configuration; the findings by name. */
async function examine(
  config: object | string | null,
  prepare: (projectDir: string) => Promise<void> = async () => {},
) {
  const projectDir = await tempDir()
  if (config !== null)
    await writeFile(join(projectDir, 'pagecache.yaml'), typeof config === 'string' ? config : stringify(config))
  await prepare(projectDir)
  const loaded = await loadConfig({}, { cwd: projectDir, variables: {}, tolerateFaults: true })
  const app = new App({ loaded, onWarning: () => {} })
  try {
    const context = {
      app,
      source: 'cli' as const,
      actor: null,
      scopes: allScopes,
      signal: app.signal,
      report: () => {},
    }
    const { success, checks } = await performOperation(doctor, context, {})
    return { success, checks: Object.fromEntries(checks.map((check) => [check.name, check])) }
  } finally {
    await app.close()
  }
}

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

function shop(listener: RequestListener): Promise<number> {
  return listen(
    createServer((request, response) => {
      response.setHeader('connection', 'close')
      listener(request, response)
    }),
  )
}

/** Finds a closed port. */
async function closedPort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return port
}

function channel(port: number, more: object = {}): object {
  return {
    id: '0190c0de-0000-7000-8000-000000000001',
    url: 'http://shop.example/de',
    origin: `http://127.0.0.1:${port}`,
    ...more,
  }
}

const server = { port: 0 }

describe('a project', () => {
  it('passes when it is empty, with a warning about the configuration', async () => {
    const { success, checks } = await examine(null)
    expect(success).toBe(true)
    expect(checks['configuration']).toMatchObject({
      status: 'warned',
      remedy: expect.stringContaining('pagecache init') as string,
    })
    for (const name of ['node', 'project directory', 'cache directory', 'data directory', 'records', 'page index']) {
      expect(checks[name], name).toMatchObject({ status: 'passed', remedy: null })
    }
  })

  it('reports an invalid configuration and still runs the other checks', async () => {
    const { success, checks } = await examine('server: { port: x }')
    expect(success).toBe(false)
    expect(checks['configuration']).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('server.port') as string,
    })
    expect(checks['node']?.status).toBe('passed')
  })

  it('fails if var is a file', async () => {
    const { checks } = await examine({ server }, (directory) => writeFile(join(directory, 'var'), ''))
    expect(checks['data directory']?.status).toBe('failed')
    expect(checks['cache directory']?.status).toBe('failed')
  })

  it('fails with a foreign database and does not change it', async () => {
    const { checks } = await examine({ server }, async (directory) => {
      await mkdir(join(directory, 'var/data/prod'), { recursive: true })
      await writeFile(
        join(directory, 'var/data/prod/records.sqlite'),
        'this is no database, and it is long enough to be looked at',
      )
    })
    expect(checks['records']).toMatchObject({ status: 'failed', remedy: expect.any(String) as string })
  })
})

describe('the key of customer tokens', () => {
  const config = { server, stages: { customerToken: { cookie: 'a', secretFile: 'customer.secret' } } }
  const secret = (text: string, mode: number) => (directory: string) =>
    writeFile(join(directory, 'customer.secret'), text, { mode })

  it('passes with a valid key', async () => {
    expect((await examine(config, secret('x'.repeat(32), 0o640))).checks['customer tokens']).toMatchObject({
      status: 'passed',
      message: expect.stringContaining('HS256') as string,
    })
  })

  it('fails with a missing or too short key and gives a remedy', async () => {
    expect((await examine(config)).checks['customer tokens']).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/stages\.customerToken\.secretFile .*ENOENT/) as string,
    })
    const { success, checks } = await examine(config, secret('canary', 0o600))
    expect([success, checks['customer tokens']?.status, checks['customer tokens']?.remedy]).toEqual([
      false,
      'failed',
      'Create one with: openssl rand -hex 32',
    ])
    expect(JSON.stringify(checks)).not.toContain('canary')
  })

  it('warns if every user can read the key, and is skipped without one', async () => {
    expect((await examine(config, secret('x'.repeat(32), 0o644))).checks['customer tokens']).toMatchObject({
      status: 'warned',
      remedy: expect.stringMatching(/^chmod o= /) as string,
    })
    expect((await examine({ server })).checks['customer tokens']).toBeUndefined()
  })
})

describe('the public port', () => {
  const other = (url: string) => ({ id: '0190c0de-0000-7000-8000-000000000002', url, origin: 'http://127.0.0.1:1' })

  it('warns if it is closed', async () => {
    const [own, typed] = [await closedPort(), await closedPort()]
    const { checks } = await examine({
      server: { port: own },
      salesChannels: [other(`http://127.0.0.1:${typed}`), other(`http://shop.invalid:${typed}/de`)].map(
        (one, number) => ({ ...one, id: `0190c0de-0000-7000-8000-00000000000${number}` }),
      ),
    })
    expect(checks[`port of http://127.0.0.1:${typed}`]).toMatchObject({
      status: 'warned',
      message: `Could not connect to port ${typed} (ECONNREFUSED); the daemon listens on port ${own}.`,
      remedy: `Set server.port to ${typed}, or have a web server forward port ${typed} to the daemon.`,
    })
    expect(checks[`port of http://shop.invalid:${typed}`]).toMatchObject({
      status: 'warned',
      message: expect.stringContaining(`port ${typed} of this machine is closed`) as string,
    })
  })

  it('passes if a web server listens on it, and is skipped if it is the daemon’s own', async () => {
    const [own, front] = [await closedPort(), await shop((_, response) => response.end())]
    const { checks } = await examine({ server: { port: own }, salesChannels: [other(`http://127.0.0.1:${front}`)] })
    expect(checks[`port of http://127.0.0.1:${front}`]?.status).toBe('passed')
    const { checks: direct } = await examine({
      server: { port: own },
      salesChannels: [other(`http://127.0.0.1:${own}`)],
    })
    expect(direct[`port of http://127.0.0.1:${own}`]).toBeUndefined()
  })
})

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

  it('passes if a daemon is running on it', async () => {
    const port = await shop((request, response) => response.writeHead(request.url === '/healthz' ? 200 : 404).end())
    expect((await examine({ server: { port } })).checks['port']).toMatchObject({
      status: 'passed',
      message: expect.stringContaining('a daemon is running') as string,
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
  expect(checks['reverse proxy down']).toMatchObject({ remedy: expect.any(String) as string })
})

describe('the command', () => {
  it('exits with 1 and names the failed check with its remedy', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: x }')
    const { code, stdout, stderr } = await run(['doctor'], { cwd })
    expect(stdout).toMatch(/^FAIL {2}configuration: The configuration has an error:/m)
    expect(stderr).toBe('')
    expect(code).toBe(1)
  })

  it('prints the same list with --json', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: x }')
    const { code, stdout } = await run(['doctor', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      checks: expect.arrayContaining([expect.objectContaining({ name: 'configuration', status: 'failed' })]) as unknown,
    })
    expect(code).toBe(1)
  })

  it('warns about an unknown PAGECACHE_ variable', async () => {
    const { stdout } = await run(['doctor'], {
      cwd: await tempDir(),
      env: { PAGECACHE_SERVER_PROT: '1', PAGECACHE_SERVER_PORT: '0' },
    })
    expect(stdout).toContain(
      'PAGECACHE_SERVER_PROT is not a known setting and is ignored.\n      Did you mean PAGECACHE_SERVER_PORT?',
    )
  })
})
