import { once } from 'node:events'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { Agent, request as requestPlain, type IncomingMessage } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startChild } from '../helpers/child.ts'
import { startDaemon, type DaemonOptions } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { childrenOf } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const id = '0190c0de-0000-7000-8000-000000000001'

async function open(options: DaemonOptions = {}): Promise<Shop> {
  const shop = await openShop(options)
  onTestFinished(() => shop.close())
  return shop
}

/** Starts a daemon with its channel in a configuration file that a reload reads again. */
async function openConfigured(more: Record<string, unknown> = {}) {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  const projectDir = await tempDir()
  const write = (url: string, changes: Record<string, unknown> = {}) => {
    const { host, port } = { host: '127.0.0.1', port: Number(new URL(url).port) }
    return writeFile(
      join(projectDir, 'pagecache.yaml'),
      stringify({
        salesChannels: [{ id, url, origin: origin.url }],
        ...more,
        ...changes,
        server: { host, port, ...(more['server'] as object | undefined) },
      }),
    )
  }
  const daemon = await startDaemon({
    projectDir,
    config: (url) => ({ salesChannels: [{ id, url, origin: origin.url }], ...more }),
  })
  onTestFinished(async () => {
    await daemon.stop()
    await origin.stop()
  })
  return {
    origin,
    daemon,
    write: (changes?: Record<string, unknown>) => write(daemon.url, changes),
    raw: (text: string) => writeFile(join(projectDir, 'pagecache.yaml'), text),
    remove: () => rm(join(projectDir, 'pagecache.yaml')),
  }
}

/** Sends a request and resolves with the response before its body has arrived. */
async function begin(url: string, agent?: Agent): Promise<IncomingMessage> {
  const request = requestPlain(url, agent === undefined ? {} : { agent })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string
  return text
}

/** Serves a page that begins at once and ends when `end` is called. */
function serveSlowly(shop: Pick<Shop, 'origin'>, path: string): { end(): void } {
  let end = () => {}
  shop.origin.on(path, (_, response) => {
    response.writeHead(200, { 'cache-control': 'private' })
    response.write('beginning ')
    end = () => response.end('end')
  })
  return { end: () => end() }
}

describe('stopping', { timeout: 60_000 }, () => {
  it('reports not ready first, finishes active requests and exits with 0', async () => {
    const shop = await open({ config: { server: { stopDelay: '5s' } } })
    const film = serveSlowly(shop, '/film')
    const response = await begin(`${shop.daemon.url}/film`)
    shop.daemon.kill('SIGTERM')
    await until(async () => (await shop.ask('/readyz')).status === 503)
    expect((await shop.ask('/still-served')).status).toBe(200)
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    expect(await shop.daemon.ended).toBe(0)
  })

  it('cuts requests that are unfinished at the deadline, and logs it', async () => {
    const shop = await open({ config: { server: { stopGrace: '200ms' } } })
    serveSlowly(shop, '/film')
    const response = await begin(`${shop.daemon.url}/film`)
    shop.daemon.kill('SIGTERM')
    await expect(textOf(response)).rejects.toThrow()
    expect(await shop.daemon.ended).toBe(0)
    expect(shop.daemon.logs()).toContain('1 connections were cut')
  })

  it('does not wait for a keep-alive connection after its last answer', async () => {
    const shop = await open({ config: { server: { stopGrace: '20s' } } })
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const film = serveSlowly(shop, '/film')
    const response = await begin(`${shop.daemon.url}/film`, agent)
    shop.daemon.kill('SIGTERM')
    await until(() =>
      shop.ask('/readyz').then(
        (answer) => answer.status !== 200,
        () => true,
      ),
    )
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    expect(await shop.daemon.ended).toBe(0)
    expect(shop.daemon.logs()).not.toContain('were cut')
  })

  it('a second signal exits at once with 130', async () => {
    const shop = await open()
    serveSlowly(shop, '/film')
    const response = await begin(`${shop.daemon.url}/film`)
    response.on('error', () => {})
    shop.daemon.kill('SIGTERM')
    await until(() =>
      shop.ask('/readyz').then(
        (answer) => answer.status !== 200,
        () => true,
      ),
    )
    shop.daemon.kill('SIGTERM')
    expect(await shop.daemon.ended).toBe(130)
  })
})

describe('SIGHUP', { timeout: 60_000 }, () => {
  const reloaded = (daemon: { logs(): string }, times = 1) =>
    until(() => daemon.logs().split('The configuration was reloaded').length > times)

  it('a proxy that is no longer trusted loses its trust on open connections too', async () => {
    const { daemon, write } = await openConfigured({ trustedProxies: ['127.0.0.1'] })
    const { host, port } = new URL(daemon.url)
    const socket = connect(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const event = JSON.stringify({ popupId: id, eventType: 'close' })
    const ask = async () => {
      socket.write(
        `POST /vendor-stage/track HTTP/1.1\r\nHost: proxy.internal\r\nX-Forwarded-Host: ${host}\r\nContent-Length: ${event.length}\r\n\r\n${event}`,
      )
      return String((await once(socket, 'data'))[0]).slice(0, 12)
    }
    expect(await ask()).toBe('HTTP/1.1 404')
    await write({ trustedProxies: [] })
    daemon.kill('SIGHUP')
    await reloaded(daemon)
    expect(await ask()).toBe('HTTP/1.1 421')
  })

  it('applies the configuration, and active requests finish with the previous one', async () => {
    const { origin, daemon, write } = await openConfigured()
    const film = serveSlowly({ origin }, '/film')
    const response = await begin(`${daemon.url}/film`)
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('fwd=miss')
    await write({ cache: { bypass: { paths: ['/private'] } } })
    daemon.kill('SIGHUP')
    await reloaded(daemon)
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('fwd=bypass')
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    await write()
    daemon.kill('SIGHUP')
    await reloaded(daemon, 2)
    // Stored before the first reload, and served from the same store after the second.
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('hit')
    expect(await daemon.stop()).toBe(0)
  })

  it('an invalid configuration changes nothing, and every error is logged', async () => {
    const { daemon, raw } = await openConfigured()
    await raw('cache: { memory: plenty }\nserver: { nonsense: 1 }\n')
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().includes('was not reloaded'))
    expect(daemon.logs()).toMatch(/cache\.memory.*server\.nonsense|server\.nonsense.*cache\.memory/s)
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    await raw('{{{ no yaml')
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().split('was not reloaded').length > 2)
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
  })

  it('is ignored while stopping', async () => {
    const { origin, daemon } = await openConfigured()
    const film = serveSlowly({ origin }, '/film')
    const response = await begin(`${daemon.url}/film`)
    daemon.kill('SIGTERM')
    await until(() =>
      exchange(`${daemon.url}/readyz`).then(
        (answer) => answer.status !== 200,
        () => true,
      ),
    )
    daemon.kill('SIGHUP')
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    expect(await daemon.ended).toBe(0)
    expect(daemon.logs()).not.toContain('was reloaded')
  })

  it('a missing configuration file is an error, not an empty configuration', async () => {
    const { daemon, remove } = await openConfigured()
    await remove()
    daemon.kill('SIGHUP')
    await until(
      () => daemon.logs().includes('was not reloaded') || daemon.logs().includes('The configuration was reloaded'),
    )
    expect(daemon.logs()).toContain('no longer exists')
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
  })
})

describe('several processes', { timeout: 90_000 }, () => {
  it('share the port, one set of workers and their metrics, and stop together', async () => {
    const shop = await open({ config: { server: { processes: 2 } } })
    for (let count = 0; count < 20; count++) expect((await shop.ask(`/page-${count % 5}`)).status).toBe(200)
    // Connections go to the processes in turns, so the sum covers both.
    const metrics = String((await shop.ask('/metrics')).body)
    const total = [...metrics.matchAll(/^pagecache_requests_total\{result="(?:hit|miss)"\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
    expect(total).toBe(20)
    await until(
      async () =>
        (JSON.parse((await shop.daemon.run('messenger:stats', '--json')).stdout) as { workers: object[] }).workers
          .length === 1,
    )
    expect(await childrenOf(shop.daemon.pid)).toHaveLength(3)
    expect(await shop.daemon.stop()).toBe(0)
  })

  it('the queue process finishes the page that it is fetching, even with stopGrace 0s', async () => {
    const { origin, daemon } = await openConfigured({ server: { processes: 2, stopGrace: '0s' } })
    const slow = Promise.withResolvers<void>()
    origin.on('/sitemap.xml', {
      body: `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${daemon.url}/slow</loc></url></urlset>`,
    })
    origin.on('/slow', async () => (await slow.promise, page('slow')))
    expect(await daemon.run('warmup:start')).toMatchObject({ code: 0 })
    await until(() => origin.hits('/slow') === 1)
    daemon.kill('SIGTERM')
    // Longer than the delay after which a late process is killed.
    setTimeout(() => slow.resolve(), 7000)
    expect(await daemon.ended).toBe(0)
    const { stdout } = await daemon.run('warmup:progress', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ progress: { status: 'completed', processed_urls: 1 } })
  })

  it('a killed process is replaced', async () => {
    const shop = await open({ config: { server: { processes: 2 } } })
    const before = await childrenOf(shop.daemon.pid)
    process.kill(before[0]!, 'SIGKILL')
    await until(async () => {
      const now = await childrenOf(shop.daemon.pid)
      return now.length === 3 && !now.includes(before[0]!)
    })
    await until(async () => (await shop.ask('/readyz')).status === 200)
  })

  it('a port in use is an error with exit code 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }
    await expect(startDaemon({ port, args: ['--processes', '2', '--origin', 'http://127.0.0.1:1'] })).rejects.toThrow(
      /ended \(1\).*Cannot listen on 127\.0\.0\.1:\d+: EADDRINUSE/s,
    )
  })
})

describe('listening', { timeout: 60_000 }, () => {
  async function serveAt(socket: string, processes = 1) {
    const origin = await startOrigin({
      otherwise: (request) => page(`page of ${request.path}, asked for ${request.headers['host']}`),
    })
    const cwd = await tempDir()
    await writeFile(
      join(cwd, 'pagecache.yaml'),
      stringify({
        server: { socket, processes },
        salesChannels: [{ id, url: 'https://shop.example', origin: origin.url }],
      }),
    )
    const child = await startChild([process.execPath, program, 'serve', '--no-workers'], {
      cwd,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: cwd },
      ready: (logs) => logs.includes('listens on'),
    })
    onTestFinished(async () => {
      await child.stop()
      await origin.stop()
    })
    return { child, origin }
  }

  /** Sends a request over the socket, like a web server in front. */
  function askOver(socketPath: string, path: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const request = requestPlain(
        { socketPath, path, headers: { host: 'shop.example', 'x-forwarded-proto': 'https', connection: 'close' } },
        (response) => {
          textOf(response).then((text) => resolve({ status: response.statusCode!, text }), reject)
        },
      )
      request.once('error', reject)
      request.end()
    })
  }

  it('on a Unix socket, where the forwarded fields of a web server are trusted', async () => {
    const path = join(await tempDir(), 'pagecache.sock')
    const { child } = await serveAt(path)
    expect(await askOver(path, '/a')).toMatchObject({
      status: 200,
      text: expect.stringContaining('page of /a, asked for shop.example') as string,
    })
    // Peers on a Unix socket have no address, so they do not count as loopback.
    expect((await askOver(path, '/metrics')).status).toBe(401)
    child.kill('SIGKILL')
    await child.ended
    // A killed daemon leaves its socket behind; the next one replaces it.
    expect(await readdir(join(path, '..'))).toEqual(['pagecache.sock'])
    const again = await serveAt(path)
    expect((await askOver(path, '/a')).status).toBe(200)
    expect(await again.child.stop()).toBe(0)
    expect(await readdir(join(path, '..'))).toEqual([])
  })

  it('on a Unix socket with several processes, in place of a stale one', async () => {
    const path = join(await tempDir(), 'pagecache.sock')
    const { child } = await serveAt(path, 3)
    child.kill('SIGKILL')
    await child.ended
    const again = await serveAt(path, 3)
    for (let count = 0; count < 6; count++) expect((await askOver(path, '/a')).status).toBe(200)
    expect(await again.child.stop()).toBe(0)
    expect(await readdir(join(path, '..'))).toEqual([])
  })

  it('never removes another kind of file', async () => {
    const path = join(await tempDir(), 'precious')
    await writeFile(path, 'precious')
    await expect(serveAt(path)).rejects.toThrow(/ended \(1\).*Cannot listen on unix:/s)
    expect(await readFile(path, 'utf8')).toBe('precious')
  })
})
