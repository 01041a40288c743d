import { readdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request as requestPlain } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startChild } from '../helpers/child.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { begin, id, open, program, serveSlowly, textOf } from './slow-shop.ts'

describe('stopping', () => {
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

describe('listening', () => {
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
