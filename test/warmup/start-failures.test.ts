import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { runCommand } from '../helpers/commands.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { channels, openShop, origin, page, progressIn, project, useOrigin } from './sitemap-shop.ts'

useOrigin()

describe('failed pages', () => {
  const paths = ['/fine', '/gone', '/private']

  beforeEach(() => {
    openShop('http://shop.example', paths)
    origin.on('/gone', { status: 404 })
    origin.on('/private', { headers: { 'cache-control': 'private' }, body: 'x' })
  })

  it('exit with 1 under --wait and are listed', async () => {
    const { code, stdout, stderr } = await runCommand(['warmup:start', '--wait'], await project())
    expect(code).toBe(1)
    expect(stderr).toContain('2 of 3 URLs could not be cached')
    expect(stdout).toContain('1 × answered 404')
    expect(stdout).toContain('http://shop.example/private ')
  })

  it('exit with 0 under --allow-failures or without --wait', async () => {
    const cwd = await project()
    const allowed = await runCommand(['warmup:start', '--wait', '--allow-failures', '--json'], cwd)
    expect(allowed.code).toBe(0)
    expect(JSON.parse(allowed.stdout).progress).toMatchObject({
      processed_urls: 1,
      failed_urls: 2,
      checked_urls: 3,
      remaining_urls: 0,
      percentage: 100,
    })
    const plain = await runCommand(['warmup:start', '--json'], cwd)
    expect(plain.code).toBe(0)
    expect(Object.keys(JSON.parse(plain.stdout))).toEqual(['success', 'progressId', 'totalUrls'])
    expect(plain.stderr).toContain('No worker is running')
    expect(origin.hits('/fine')).toBe(1)
  })

  it('a run without URLs is completed without a worker', async () => {
    openShop('http://shop.example', [])
    const cwd = await project()
    const { code, stdout, stderr } = await runCommand(['warmup:start'], cwd)
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 URLs')])
    expect(stderr).not.toContain('worker')
  })

  it('are listed with reasons, filtered by status, reason and URL, and exported', async () => {
    openShop('http://shop.example', [...paths, '/=gone'])
    origin.on('/gone', { status: 404 })
    origin.on('/private', { headers: { 'cache-control': 'private' }, body: 'x' })
    origin.on('/=gone', { status: 410 })
    const cwd = await project()
    await runCommand(['warmup:start', '--wait', '--allow-failures'], cwd)
    const value = JSON.parse((await runCommand(['warmup:failures', '--json'], cwd)).stdout)
    expect(value).toMatchObject({
      success: true,
      total: 3,
      limit: 50,
      offset: 0,
      reasons: expect.arrayContaining([
        { error: 'Cache-Control: private', count: 1, remedy: expect.stringContaining('have the shop send') },
      ]),
    })
    expect(value.items).toContainEqual({
      url: 'http://shop.example/private',
      variant: 0,
      status: 200,
      error: 'Cache-Control: private',
      attempts: 1,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    const found = async (...flags: string[]) =>
      JSON.parse((await runCommand(['warmup:failures', '--json', ...flags], cwd)).stdout).items.map(
        ({ url }: { url: string }) => url,
      )
    expect(await found('--status', '404')).toEqual(['http://shop.example/gone'])
    expect(await found('--error', 'PRIVATE')).toEqual(['http://shop.example/private'])
    expect(await found('--url', '/gone')).toEqual(['http://shop.example/gone'])
    const csv = await runCommand(['warmup:failures', '--csv'], cwd)
    expect(csv.stdout.split('\n')[0]).toBe('url,variant,status,error,attempts,at')
    expect(csv.stdout.split('\n')).toHaveLength(5)
    expect(await runCommand(['warmup:failures', '--status', '99'], cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('100 to 599'),
    })
  })

  it('exit with 1 under --json too, with the value on stdout', async () => {
    const { code, stdout } = await runCommand(['warmup:start', '--wait', '--json'], await project())
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ success: true, progress: { failed_urls: 2 } })
  })
})

it('a failed discovery makes a failed run: exit 1 with the reason, with or without --wait', async () => {
  const cwd = await project()
  for (const flags of [['--wait'], []]) {
    const { code, stderr } = await runCommand(['warmup:start', ...flags], cwd)
    expect(code).toBe(1)
    expect(stderr).toContain('No sitemap could be read: http://shop.example/sitemap.xml answered 404')
    expect(await progressIn(cwd)).toMatchObject({
      status: 'failed',
      total_urls: 0,
      message: expect.stringContaining('answered 404'),
    })
  }
})

it('text from the network is escaped before it is printed', async () => {
  openShop('http://shop.example', ['/fine'])
  origin.on('/robots.txt', { body: 'Sitemap: http://shop.example/\u001b[31m.xml\n' })
  const cwd = await tempDir()
  await writeFile(
    join(cwd, 'pagecache.yaml'),
    JSON.stringify({ salesChannels: [{ ...channels('http://shop.example')[0], sitemaps: [] }] }),
  )
  const { stdout, stderr } = await runCommand(['warmup:start', '--wait'], cwd)
  expect(stdout + stderr).not.toContain('\u001b')
})

it('a second Ctrl-C exits immediately with 130', async () => {
  openShop('http://shop.example', ['/slow'])
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  origin.on('/slow', async () => (await held, page('slow')))
  const child = start(['warmup:start', '--wait'], { cwd: await project() })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  child.stdout.resume()
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (...end) => resolve(end)),
  )
  await until(() => expect(origin.hits('/slow')).toBe(1))
  child.kill('SIGINT')
  await until(() => expect(stderr).toContain('Finishing the pages in progress; interrupt again to stop at once.'))
  child.kill('SIGINT')
  try {
    expect(await ended).toEqual([130, null])
  } finally {
    release()
  }
})

it('an interrupted run finishes requests in flight, is paused, and exits with 130', async () => {
  const paths = Array.from({ length: 40 }, (_, number) => `/${number}`)
  openShop('http://shop.example', paths)
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  for (const path of paths.slice(8)) origin.on(path, async () => (await held, page(path)))
  const cwd = await project({ concurrency: 4 })
  const child = start(['warmup:start', '--wait'], { cwd })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    if (stderr.includes('Finishing the pages in progress')) release()
  })
  child.stdout.resume()
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  // On a busy machine the warmup lowers its concurrency: the fourth request would come after a time-out.
  await until(() => origin.requests.some(({ path }) => paths.slice(8).includes(path)))
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  const progress = (await progressIn(cwd))!
  const requested = new Set(origin.requests.map(({ path }) => path).filter((path) => paths.includes(path)))
  // All requests were finished and counted, and each page was requested once.
  expect(progress, stderr).toMatchObject({
    status: 'paused',
    total_urls: 40,
    processed_urls: requested.size,
    checked_urls: requested.size,
    remaining_urls: 40 - requested.size,
  })
  expect(requested.size).toBeLessThan(20)
  expect(origin.requests.filter(({ path }) => paths.includes(path))).toHaveLength(requested.size)
})

it('says that it finishes pages only if interrupted while it fetches some itself', async () => {
  openShop('http://shop.example', ['/slow'])
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  origin.on('/slow', async () => (await held, page('slow')))
  const cwd = await project()
  const worker = start(['messenger:consume', 'async'], { cwd })
  await Promise.race([once(worker.stdout, 'data'), once(worker.stderr, 'data')])
  const child = start(['warmup:start', '--wait'], { cwd })
  const stderr = text(child.stderr)
  child.stdout.resume()
  const ended = once(child, 'close')
  await until(() => expect(origin.hits('/slow')).toBe(1))
  child.kill('SIGINT')
  expect(await ended).toEqual([130, null])
  expect(await stderr).toMatch(/Interrupted\. Other workers continue the warmup\.\n$/)
  expect(await stderr).not.toContain('Finishing')
  release()
  worker.kill('SIGINT')
  await once(worker, 'close')
})

it('--timeout is no interruption', async () => {
  openShop('http://shop.example', ['/slow'])
  // Asked after the command has started, so answered after its time limit.
  origin.on('/slow', async () => (await setTimeout(2000), page('slow')))
  const { code, stderr } = await run(['warmup:start', '--wait', '--timeout', '2s'], {
    cwd: await project(),
    alone: true,
  })
  expect([code, stderr]).toEqual([1, expect.stringContaining('No result within 2 s')])
  expect(stderr).not.toContain('Finishing')
})
