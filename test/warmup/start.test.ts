import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { channels, id, openShop, origin, page, progressIn, project, useOrigin } from './sitemap-shop.ts'

useOrigin()

it('warmed pages are hits for visitors of the daemon', async () => {
  const paths = ['/a', '/a?p=2', '/b/c']
  const daemon = await startDaemon({ config: (url) => ({ salesChannels: channels(url) }) })
  try {
    openShop(daemon.url, paths)
    for (const path of paths) origin.on(path.split('?')[0]!, (request) => page(request.url))
    const warmed = await daemon.run('warmup:start', '--wait', '--json')
    expect(warmed.code).toBe(0)
    const value = JSON.parse(warmed.stdout)
    expect(value).toMatchObject({
      success: true,
      totalUrls: 3,
      progressId: value.progress.id,
      progress: { status: 'completed', total_urls: 3, checked_urls: 3, processed_urls: 3, percentage: 100 },
    })
    origin.forget()
    for (const path of paths) {
      const response = await fetch(daemon.url + path)
      expect(response.headers.get('cache-status')).toContain('hit')
      expect(await response.text()).toBe(`<h1>${path}</h1>`)
    }
    expect(origin.requests).toEqual([])
    const again = JSON.parse((await daemon.run('warmup:start', '--wait', '--json')).stdout)
    expect(again.progress).toMatchObject({ processed_urls: 3, skipped_urls: 3 })
    const forced = JSON.parse((await daemon.run('warmup:start', '--wait', '--force', '--json')).stdout)
    expect(forced.progress).toMatchObject({ processed_urls: 3, skipped_urls: 0 })
  } finally {
    await daemon.stop()
  }
})

it('without --json progress goes to stderr and a summary to stdout', async () => {
  openShop('http://shop.example', ['/a', '/b', 'http://evil.example/', '/checkout/x'])
  const { code, stdout, stderr } = await runCommand(['warmup:start', '--wait'], await project())
  expect(code).toBe(0)
  expect(stderr).toMatch(/^Reading sitemaps: .*\n[^]*100\.00 % \(2\/2\)/)
  expect(stderr).not.toContain('\u001b')
  expect(stdout).toMatch(
    /URLs: 2\nFetched: 2\nAlready fresh: 0\nFailed: 0\nTime: .* \(.* pages\/s\)\nLeft out: 1 of other hosts or channels, 1 never cached or with side effects\n/,
  )
})

it('with --json skipped URLs and unreadable sitemaps are reported on stderr', async () => {
  openShop('http://shop.example', ['/a', 'http://evil.example/', '/checkout/x'])
  origin.on('/sitemap.xml', {
    body: '<sitemapindex><sitemap><loc>/1.xml.gz</loc></sitemap><sitemap><loc>/gone.xml</loc></sitemap></sitemapindex>',
  })
  const { code, stdout, stderr } = await runCommand(['warmup:start', '--wait', '--json'], await project())
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ totalUrls: 1, progress: { status: 'completed' } })
  expect(stderr).toContain('Left out: 1 of other hosts or channels, 1 never cached or with side effects.\n')
  expect(stderr).toContain('Sitemaps that could not be read completely:\n  http://shop.example/gone.xml answered 404\n')
})

it.each([[], ['--wait'], ['--dry-run'], ['/a']])('without a sales channel it says what to do: %j', async (...flags) => {
  const { code, stdout, stderr } = await runCommand(['warmup:start', ...flags], await tempDir())
  expect([code, stdout]).toEqual([3, ''])
  expect(stderr).toMatch(
    /^Error: No sales channel is configured, so there is nothing to warm up\.\nAdd one under salesC/,
  )
})

it.each([['--wait'], ['--wait', '--json'], ['--dry-run']])(
  'a warmup without any page to warm in its sitemaps reports why: %j',
  async (...flags) => {
    openShop('http://shop.example', ['http://www.shop.example/a', 'http://www.shop.example/b'])
    const { code, stderr } = await runCommand(['warmup:start', ...flags], await project())
    expect(code).toBe(0)
    expect(stderr).toContain(
      'Shop (http://shop.example): nothing to warm up. None of the 2 URLs in its sitemaps is a cacheable page of this sales channel. Of other hosts or channels: all. Check the url of this sales channel.\n',
    )
  },
)

it('--dry-run lists what would be fetched, fetches no page and creates no run', async () => {
  openShop('http://shop.example', ['/a', '/b', 'http://evil.example/'])
  const cwd = await project()
  const { code, stdout } = await runCommand(['warmup:start', '--dry-run'], cwd)
  expect(code).toBe(0)
  expect(stdout).toBe(
    '2 URLs would be fetched.\n  http://shop.example/a\n  http://shop.example/b\nLeft out: 1 of other hosts or channels.\n',
  )
  const json = JSON.parse((await runCommand(['warmup:start', '--dry-run', '--json'], cwd)).stdout)
  expect(json).toMatchObject({
    success: true,
    progressId: null,
    totalUrls: 2,
    dryRun: true,
    urls: ['http://shop.example/a', 'http://shop.example/b'],
    discovery: { foreign: 1 },
  })
  expect(origin.hits('/a')).toBe(0)
  expect(existsSync(join(cwd, 'var/data/prod/records.sqlite')) ? await progressIn(cwd) : null).toBeNull()
})

it('--dry-run counts fresh pages only under --force and lists a sample of the URLs', async () => {
  const paths = Array.from({ length: 130 }, (_, number) => `/p${number}`)
  openShop('http://shop.example', paths.slice(0, 3))
  const cwd = await project()
  await runCommand(['warmup:start', '--wait'], cwd)
  openShop('http://shop.example', paths)
  const planned = async (...flags: string[]) =>
    JSON.parse((await runCommand(['warmup:start', '--dry-run', '--json', ...flags], cwd)).stdout)
  expect(await planned()).toMatchObject({ totalUrls: 127, fresh: 3, urls: { length: 100 } })
  expect(await planned('--force')).toMatchObject({ totalUrls: 130, fresh: 0 })
  const { stdout } = await runCommand(['warmup:start', '--dry-run'], cwd)
  expect(stdout.split('\n')).toEqual([
    '127 URLs would be fetched.',
    ...paths.slice(3, 23).map((path) => `  http://shop.example${path}`),
    '  ... and 107 more.',
    'Already fresh: 3.',
    '',
  ])
})

it('an unknown sales channel exits with 3, a batch size out of range with 2, no sales channel at all with 3', async () => {
  const cwd = await project()
  expect(await runCommand(['warmup:start', '--sales-channel', 'nope'], cwd)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(id),
  })
  expect(await runCommand(['warmup:start', '--batch-size', '1001'], cwd)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('1 to 1000'),
  })
  const empty = await runCommand(['warmup:start', '--wait', '--json'], await tempDir())
  expect(empty.code).toBe(3)
  expect(JSON.parse(empty.stdout)).toMatchObject({
    success: false,
    code: 'WRONG_STATE',
    hint: expect.any(String) as string,
  })
})
