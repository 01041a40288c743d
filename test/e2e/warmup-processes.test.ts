import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startChild, type Child } from '../helpers/child.ts'
import { runCommand } from '../helpers/commands.ts'
import { freePort, startDaemon, type Daemon } from '../helpers/daemon.ts'
import type { CommandResult } from '../helpers/environment.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const id = '0190c0de-0000-7000-8000-000000000001'
const page = {
  headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' },
  body: '<h1>page</h1>',
}

let origin: Origin
let projectDir: string

/** A shop with this many pages. `answer` decides when each is sent. */
async function openShop(pages: number, answer: (path: string) => Promise<void>): Promise<string[]> {
  const paths = Array.from({ length: pages }, (_, number) => `/p/${number}`)
  origin.on('/sitemap.xml', {
    body: `<urlset>${paths.map((path) => `<url><loc>http://shop.example${path}</loc></url>`).join('')}</urlset>`,
  })
  for (const path of paths) origin.on(path, async () => (await answer(path), page))
  return paths
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))
const command = (...args: string[]): Promise<CommandResult> => runCommand(args, projectDir)
const progress = async () => JSON.parse((await command('warmup:progress', '--json')).stdout).progress
const fetched = () => origin.requests.filter(({ path }) => path.startsWith('/p/')).map(({ path }) => path)

async function startConsumer(): Promise<Child> {
  const child = await startChild(
    [process.execPath, bin, 'messenger:consume', 'async', '-v', '--project-dir', projectDir],
    { cwd: projectDir, ready: () => true },
  )
  onTestFinished(async () => void (await child.stop('SIGKILL')))
  return child
}

beforeEach(async () => {
  origin = await startOrigin()
  onTestFinished(() => origin.stop())
  projectDir = await tempDir()
  const salesChannels = [
    { id, name: 'Shop', url: 'http://shop.example', origin: origin.url, sitemaps: ['/sitemap.xml'] },
  ]
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    JSON.stringify({ salesChannels, warmup: { retries: 0, concurrency: 4 } }),
  )
})

describe('from another process', () => {
  it('a run is paused, resumed and cancelled; nothing is fetched twice', async () => {
    await openShop(3000, () => pause(20))
    const started = await command('warmup:start')
    expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining('No worker is running') })
    expect(await progress()).toMatchObject({ status: 'running', checked_urls: 0 })
    await startConsumer()
    await until(() => expect(fetched().length).toBeGreaterThan(40))

    expect(await command('warmup:pause')).toMatchObject({ code: 0, stdout: expect.stringContaining('paused') })
    // Requests in flight are completed and recorded. After that nothing changes.
    await until(async () => expect((await progress()).processed_urls === fetched().length).toBe(true))
    const paused = fetched().length
    expect(await command('warmup:pause')).toMatchObject({ code: 3, stderr: expect.stringContaining('is paused') })
    expect(fetched()).toHaveLength(paused)

    expect((await command('warmup:resume')).code).toBe(0)
    await until(() => expect(fetched().length).toBeGreaterThan(paused + 40))
    const { progress: cancelled } = JSON.parse((await command('warmup:cancel', '--json')).stdout)
    expect(cancelled).toMatchObject({ status: 'cancelled', total_urls: 3000 })
    await until(async () =>
      expect(
        JSON.parse((await command('messenger:stats', '--json')).stdout).transports.find(
          ({ name }: { name: string }) => name === 'async',
        ).count,
      ).toBe(0),
    )
    const end = fetched()
    expect(new Set(end).size).toBe(end.length)
    expect(end.length).toBeLessThan(3000)
    expect((await progress()).status).toBe('cancelled')
    expect((await command('warmup:resume')).code).toBe(3)
    expect(fetched()).toHaveLength(end.length)
  })

  it('the concurrency is changed at once, and kept by a worker that takes over after kill -9', async () => {
    const held = Promise.withResolvers<void>()
    await openShop(400, () => held.promise)
    const { progressId } = JSON.parse((await command('warmup:start', '--concurrency', '2', '--json')).stdout)
    const first = await startConsumer()
    await until(() => expect(fetched()).toHaveLength(2))
    expect(await command('warmup:concurrency', '300')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('256'),
    })
    // The requests in flight never end.
    expect(await command('warmup:concurrency', '7')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('7 requests per origin'),
    })
    await until(() => expect(fetched()).toHaveLength(7))
    first.kill('SIGKILL')
    await first.ended
    await startConsumer()
    await until(() => expect(fetched()).toHaveLength(14))
    expect((await command('warmup:list', '--columns', 'concurrency')).stdout).toContain('7')
    await command('warmup:concurrency', 'default', progressId.slice(0, 13))
    expect(await progress()).toMatchObject({ status: 'running', concurrency: null })
    await command('warmup:cancel')
    held.resolve()
    expect(await command('warmup:concurrency', '3')).toMatchObject({ code: 3 })
  })

  it('where there is nothing to act on the exit code is 3', async () => {
    for (const verb of ['pause', 'resume', 'cancel', 'progress', 'failures']) {
      for (const ids of [[], ['0190c0de-0000-7000-8000-00000000ffff']])
        expect(await command(`warmup:${verb}`, ...ids)).toMatchObject({
          code: 3,
          stderr: expect.stringContaining('There is no warmup'),
        })
    }
    expect(await command('warmup:progress', '--json')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('"progress": null'),
    })
    expect(await command('warmup:list')).toMatchObject({ code: 0 })
  })

  it('--wait leaves the work to a running worker and exits when the run ends', async () => {
    await openShop(60, () => pause(5))
    const consumer = await startConsumer()
    await until(async () =>
      expect(JSON.parse((await command('messenger:stats', '--json')).stdout).workers.length).toBe(1),
    )
    const waited = await command('warmup:start', '--wait', '--json')
    expect(waited.code).toBe(0)
    expect(JSON.parse(waited.stdout).progress).toMatchObject({ status: 'completed', processed_urls: 60 })
    const { live } = JSON.parse((await command('warmup:watch', '--json')).stdout)
    expect(live.workers.map((worker: { pid: number }) => worker.pid)).toEqual([consumer.pid])
  })
})

describe('a consumer', () => {
  it('finishes requests in flight at SIGTERM, and another consumer continues', async () => {
    const gate = Promise.withResolvers<void>()
    const paths = await openShop(40, (path) => (Number(path.slice(3)) < 8 ? Promise.resolve() : gate.promise))
    await command('warmup:start')
    const first = await startConsumer()
    // On a busy machine a worker lowers its concurrency, so the number in flight varies.
    await until(() => fetched().length > 8)
    first.kill('SIGTERM')
    gate.resolve()
    expect(await first.ended).toBe(0)
    const done = fetched().length
    expect(done).toBeLessThan(40)
    expect(await progress()).toMatchObject({ status: 'running', processed_urls: done, checked_urls: done })
    await startConsumer()
    await until(async () => expect((await progress()).status).toBe('completed'))
    expect(fetched().toSorted()).toEqual(paths.toSorted())
  })

  it('exits at once on a second SIGTERM without losing messages', async () => {
    let held = true
    await openShop(20, (path) => (held && Number(path.slice(3)) >= 8 ? new Promise(() => {}) : Promise.resolve()))
    await command('warmup:start')
    const first = await startConsumer()
    await until(() => fetched().length > 8)
    await until(async () => expect((await progress()).processed_urls).toBe(8))
    // Signals that arrive before the process was scheduled count as one.
    let code: number | null = null
    void first.ended.then((exitCode) => (code = exitCode))
    await until(() => {
      first.kill('SIGTERM')
      expect(code).not.toBeNull()
    })
    expect(code).toBe(130)
    const inFlight = fetched().length - 8
    held = false
    await startConsumer()
    await until(async () => expect((await progress()).status).toBe('completed'))
    expect(await progress()).toMatchObject({ processed_urls: 20, checked_urls: 20, failed_urls: 0 })
    expect(fetched()).toHaveLength(20 + inFlight)
  })

  it('that was suspended past its lease has its results rejected', async () => {
    const gate = Promise.withResolvers<void>()
    let held = true
    await openShop(20, (path) => (held && Number(path.slice(3)) >= 4 ? gate.promise : Promise.resolve()))
    await command('warmup:start')
    const first = await startConsumer()
    await until(() => fetched().length > 4)
    await until(async () => expect((await progress()).processed_urls).toBe(4))
    first.kill('SIGSTOP')
    held = false
    await startConsumer()
    await until(async () => expect((await progress()).status).toBe('completed'))
    const end = await progress()
    gate.resolve()
    first.kill('SIGCONT')
    await until(() => expect(first.logs()).toMatch(/took over|taken over/))
    expect(await progress()).toEqual(end)
    expect(end).toMatchObject({ processed_urls: 20, checked_urls: 20, failed_urls: 0, total_urls: 20 })
  })
})

it('two consumers and the daemon, killed and started again in turn while the demo shop is warmed: nothing is lost', async () => {
  const shopProgram = fileURLToPath(new URL('../../dist/demo/shop-main.js', import.meta.url))
  const port = await freePort()
  const shop = await startChild([process.execPath, shopProgram, '--url', `http://127.0.0.1:${port}`], {
    ready: (logs) => logs.includes('\n'),
  })
  onTestFinished(async () => void (await shop.stop()))
  const { url, channels } = JSON.parse(shop.logs().split('\n')[0]!) as {
    url: string
    channels: { id: string; name: string; url: string }[]
  }
  const salesChannels = channels.map((channel) => ({
    id: channel.id,
    name: channel.name,
    url: channel.url,
    origin: url,
    sitemaps: ['/sitemap.xml'],
  }))
  const serve = (): Promise<Daemon> =>
    startDaemon({ projectDir, port, config: { salesChannels, warmup: { concurrency: 8 } } })
  let daemon = await serve()
  onTestFinished(async () => void (await daemon.stop()))
  const consumers = [await startConsumer(), await startConsumer()]
  const { progressId, totalUrls } = JSON.parse((await command('warmup:start', '--json')).stdout)
  let before = -1
  let kills = 0
  for (let turn = 0; ; turn++) {
    const now = await progress()
    expect(now.processed_urls + now.failed_urls).toBeGreaterThanOrEqual(before)
    expect(now.remaining_urls).toBe(now.total_urls - now.processed_urls - now.failed_urls)
    if (now.status !== 'running') break
    before = now.processed_urls + now.failed_urls
    // Three times each; then the rest of the run need not wait for starts.
    if (kills === 9) {
      await pause(100)
      continue
    }
    if (turn % 3 === 2) {
      daemon.kill('SIGKILL')
      await daemon.ended
      daemon = await serve()
    } else {
      const consumer = consumers[turn % 3]!
      consumer.kill('SIGKILL')
      await consumer.ended
      consumers[turn % 3] = await startConsumer()
    }
    kills++
    // The run makes progress between two kills, or has ended.
    await until(async () =>
      expect((await progress()).status !== 'running' || (await progress()).processed_urls > before).toBe(true),
    )
  }
  // There are fewer kills on a machine where processes take seconds to start.
  expect(kills).toBeGreaterThan(1)
  expect(await progress()).toMatchObject({
    id: progressId,
    status: 'completed',
    total_urls: totalUrls,
    checked_urls: totalUrls,
    processed_urls: totalUrls,
    failed_urls: 0,
    percentage: 100,
  })
  const again = JSON.parse((await command('warmup:start', '--wait', '--json')).stdout)
  expect(again.progress).toMatchObject({ total_urls: totalUrls, skipped_urls: totalUrls })
})
