import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../helpers/api-client.ts'
import { startChild } from '../helpers/child.ts'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasTmux, openTerminal } from '../helpers/tmux.ts'
import { until } from '../helpers/until.ts'

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const page = {
  headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' },
  body: '<h1>page</h1>',
}
const salesChannel = (origin: string) => ({
  id: '0190c0de-0000-7000-8000-000000000001',
  name: 'Shop',
  url: 'http://shop.example',
  origin,
  sitemaps: ['/sitemap.xml'],
})
/** Time that the shop takes for a page, in ms: long enough that a run with many pages does not end during the test. */
const slowly = 25

let origin: Origin
let projectDir: string

function openShop(pages: number): void {
  const paths = Array.from({ length: pages }, (_, number) => `/p/${number}`)
  origin.on('/sitemap.xml', {
    body: `<urlset>${paths.map((path) => `<url><loc>http://shop.example${path}</loc></url>`).join('')}</urlset>`,
  })
  for (const path of paths)
    origin.on(path, async () => (await new Promise((resolve) => setTimeout(resolve, slowly)), page))
}

const command = (...args: string[]) => runCommand(args, projectDir)
const progress = async () =>
  (
    JSON.parse((await command('warmup:progress', '--json')).stdout) as {
      progress: { status: string; processed_urls: number }
    }
  ).progress
const open = (args: string, env: Record<string, string> = {}) =>
  openTerminal(`node ${bin} ${args}; echo "exit $?"`, { columns: 110, rows: 32, cwd: projectDir, env })

beforeEach(async () => {
  origin = await startOrigin()
  onTestFinished(() => origin.stop())
  projectDir = await tempDir()
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    JSON.stringify({ salesChannels: [salesChannel(origin.url)], warmup: { retries: 0, concurrency: 4 } }),
  )
})

describe.skipIf(!hasTmux)('a warmup on the screen (needs tmux)', () => {
  it('without a worker the command works it itself: paused and resumed with keys, and paused when the screen is left, as the foot says', async () => {
    openShop(5000)
    const terminal = await open('warmup:start --watch')
    await terminal.see(/RUNNING[^]*leave and pause it \(no other worker\)/)
    await terminal.keys('p')
    await terminal.see('‖ PAUSED')
    expect((await progress()).status).toBe('paused')
    await terminal.keys('r')
    await terminal.see('● RUNNING')
    expect((await progress()).status).toBe('running')
    await terminal.keys('q')
    const shown = await terminal.see('exit 0')
    expect(shown).toMatch(/Warmup: +paused/)
    expect(shown).toContain('pagecache warmup:resume')
    expect(await terminal.flag('alternate_on')).toBe('0')
    expect((await progress()).status).toBe('paused')
  })

  it('with a worker it goes on when the screen is left, and is cancelled after a question', async () => {
    openShop(5000)
    const consumer = await startChild(
      [process.execPath, bin, 'messenger:consume', 'async', '--project-dir', projectDir],
      { cwd: projectDir, ready: () => true },
    )
    onTestFinished(async () => void (await consumer.stop()))
    const terminal = await open('warmup:start --watch')
    await terminal.see(/RUNNING[^]*leave; the warmup continues/)
    await terminal.keys('q')
    await terminal.see('exit 0')
    const left = await progress()
    expect(left.status).toBe('running')
    await until(async () => expect((await progress()).processed_urls).toBeGreaterThan(left.processed_urls))

    const again = await open('warmup:watch')
    await again.see('● RUNNING')
    await again.keys('c')
    await again.see('Cancel this warmup?')
    await again.keys('y')
    await again.see('× CANCELLED')
    expect((await progress()).status).toBe('cancelled')
    await again.keys('q')
    await again.see('exit 0')
  })

  it('the screen ends with the run, and what failed remains', async () => {
    openShop(12)
    origin.on('/p/7', { status: 404, body: 'none' })
    const terminal = await open('warmup:start --watch')
    const shown = await terminal.see('exit 1')
    expect(shown).toMatch(/Warmup: +completed/)
    expect(shown).toContain('http://shop.example/p/7')
    expect(await terminal.flag('alternate_on')).toBe('0')
  })

  it('a remote daemon is watched: stale while it is frozen, live again afterwards', async () => {
    const daemon = await startDaemon({ config: { salesChannels: [salesChannel(origin.url)] } })
    onTestFinished(async () => void (await daemon.stop()))
    const { clientId, clientSecret } = await createClient(daemon, 'monitor')
    const terminal = await open(`monitor --server ${daemon.url}`, {
      PAGECACHE_CLIENT_ID: clientId,
      PAGECACHE_CLIENT_SECRET: clientSecret,
    })
    await terminal.see('cache    0 pages')
    daemon.kill('SIGSTOP')
    await terminal.see(/STALE \d+ s/)
    expect(await terminal.screen()).toContain('cache    0 pages')
    daemon.kill('SIGCONT')
    await until(async () => expect(await terminal.screen()).not.toContain('STALE'))
    await terminal.keys('q')
    await terminal.see('exit 0')
  })
})

it('without a terminal a run is watched in lines until it ends', async () => {
  openShop(40)
  await command('warmup:start')
  const watching = command('warmup:watch')
  await command('messenger:consume', 'async', '--limit', '1')
  const { code, stdout, stderr } = await watching
  expect(code).toBe(0)
  expect(stderr).toMatch(/^0\.00 % \(0\/40\)/)
  expect(stderr).toMatch(/100\.00 % \(40\/40\)/)
  expect(stdout).toContain('completed, 100.00 %, 40 of 40 pages')
})

it('without a terminal the monitor continues when the daemon is back', async () => {
  const config = { salesChannels: [salesChannel(origin.url)] }
  const first = await startDaemon({ projectDir, config })
  onTestFinished(async () => void (await first.stop()))
  const { clientId, clientSecret } = await createClient(first, 'monitor')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: projectDir,
    PAGECACHE_CLIENT_ID: clientId,
    PAGECACHE_CLIENT_SECRET: clientSecret,
  }
  const monitor = await startChild([process.execPath, bin, 'monitor', '--server', first.url], {
    cwd: projectDir,
    env,
    ready: (logs) => logs.includes('cache: 0 pages'),
  })
  onTestFinished(async () => void (await monitor.stop()))
  await first.stop()
  await until(() => expect(monitor.logs()).toContain('No response, retrying'))
  const second = await startDaemon({ projectDir, config, port: first.port })
  onTestFinished(async () => void (await second.stop()))
  await until(() => expect(monitor.logs().split('cache: 0 pages').length).toBeGreaterThan(2))
  expect(await monitor.stop()).toBe(130)
})
