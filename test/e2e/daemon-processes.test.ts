import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findDaemon } from '../../src/config/running-daemon.ts'
import { uuidv7 } from '../../src/lib/uuid.ts'
import { answers } from '../helpers/child.ts'
import { freePort, startDaemon } from '../helpers/daemon.ts'
import { childrenOf, lowerPriorities } from '../helpers/processes.ts'
import { page } from '../http/api/shop.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { open, openConfigured } from './slow-shop.ts'

describe('several processes', () => {
  it('share the port, one set of workers and their metrics, and stop together', async () => {
    const shop = await open({ config: { server: { processes: 2 } } })
    for (let count = 0; count < 20; count++) expect((await shop.ask(`/page-${count % 5}`)).status).toBe(200)
    // Connections go to the processes in turns, so the sum covers both.
    const metrics = String((await shop.ask('/metrics')).body)
    const total = [...metrics.matchAll(/^pagecache_requests_total\{result="(?:hit|miss)"[^}]*\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
    expect(total).toBe(20)
    await until(
      async () =>
        (JSON.parse((await shop.daemon.run('messenger:stats', '--json')).stdout) as { workers: object[] }).workers
          .length === 1,
    )
    const children = await childrenOf(shop.daemon.pid)
    expect(children).toHaveLength(3)
    if (process.platform === 'linux')
      // The purge thread and the writer of each serving process, V8's helpers and libuv's pool.
      await until(() => {
        const lowered = children.map(lowerPriorities)
        const isBehind = (threads: number[] = []) => threads.length > 0 && threads.every((by) => by === 5)
        return (
          lowered.filter(
            ({ WorkerThread: own, V8Worker: v8, 'libuv-worker': pool }) =>
              String(own) === '5,5' && isBehind(v8) && isBehind(pool),
          ).length === 2
        )
      })
    expect(await shop.daemon.stop()).toBe(0)
  })

  it('are described for other commands before the first visitor is answered', async () => {
    const port = await freePort()
    const projectDir = await tempDir()
    // Many settings take long to describe.
    const salesChannels = Array.from({ length: 500 }, (_, number) => ({
      id: uuidv7(number),
      url: `http://shop-${number}.example`,
      origin: 'http://127.0.0.1:9',
    }))
    const answered = until(async () => {
      expect(await answers(`http://127.0.0.1:${port}/readyz`)).toBe(true)
      return findDaemon(join(projectDir, 'var/data/prod')) ?? 'none'
    }, 0)
    const daemon = await startDaemon({ projectDir, port, config: { server: { processes: 2 }, salesChannels } })
    onTestFinished(async () => void (await daemon.stop()))
    expect(await answered).toMatchObject({ port, process: { pid: daemon.pid } })
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
