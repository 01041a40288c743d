import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecords } from '../../src/records/open.ts'
import { readProgress } from '../../src/warmup/run/runs.ts'
import { start, run } from '../helpers/cli.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const id = '0190c0de-0000-7000-8000-000000000001'
const page = (title: string) => ({
  headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' },
  body: `<h1>${title}</h1>`,
})
/** Polling options with a long time-out, for slow machines. */
let origin: Origin

beforeEach(async () => {
  origin = await startOrigin()
})

afterEach(() => origin.stop())

/** A shop with a sitemap index, one gzip child and some pages. */
function openShop(url: string, paths: readonly string[]): void {
  origin.on('/sitemap.xml', { body: `<sitemapindex><sitemap><loc>${url}/1.xml.gz</loc></sitemap></sitemapindex>` })
  origin.on('/1.xml.gz', {
    body: gzipSync(
      `<urlset>${paths.map((path) => `<url><loc>${path.startsWith('/') ? url + path : path}</loc></url>`).join('')}</urlset>`,
    ),
  })
  for (const path of paths) if (path.startsWith('/')) origin.on(path, page(path))
}

const channels = (url: string) => [{ id, name: 'Shop', url, origin: origin.url, sitemaps: ['/sitemap.xml'] }]

/** A project directory without a daemon. */
async function project(warmup: object = { retries: 0 }): Promise<string> {
  const directory = await tempDir()
  await writeFile(
    join(directory, 'pagecache.yaml'),
    JSON.stringify({ salesChannels: channels('http://shop.example'), warmup }),
  )
  return directory
}

async function progressIn(directory: string) {
  const data = join(directory, 'var/data/prod')
  await mkdir(data, { recursive: true })
  const records = await openRecords({ directory: data, now: Date.now })
  try {
    return await readProgress(records)
  } finally {
    await records.close()
  }
}

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
  const { code, stdout, stderr } = await run(['warmup:start', '--wait'], { cwd: await project() })
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
  const { code, stdout, stderr } = await run(['warmup:start', '--wait', '--json'], { cwd: await project() })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ totalUrls: 1, progress: { status: 'completed' } })
  expect(stderr).toContain('Left out: 1 of other hosts or channels, 1 never cached or with side effects.\n')
  expect(stderr).toContain('Sitemaps that could not be read completely:\n  http://shop.example/gone.xml answered 404\n')
})

it.each([['--wait'], ['--wait', '--json'], ['--dry-run']])(
  'a warmup without any page to warm in its sitemaps reports why: %j',
  async (...flags) => {
    openShop('http://shop.example', ['http://www.shop.example/a', 'http://www.shop.example/b'])
    const { code, stderr } = await run(['warmup:start', ...flags], { cwd: await project() })
    expect(code).toBe(0)
    expect(stderr).toContain(
      'Shop (http://shop.example): nothing to warm up. None of the 2 URLs in its sitemaps is a cacheable page of this sales channel. Of other hosts or channels: all. Check the url of this sales channel.\n',
    )
  },
)

describe('failed pages', () => {
  const paths = ['/fine', '/gone', '/private']

  beforeEach(() => {
    openShop('http://shop.example', paths)
    origin.on('/gone', { status: 404 })
    origin.on('/private', { headers: { 'cache-control': 'private' }, body: 'x' })
  })

  it('exit with 1 under --wait and are listed', async () => {
    const { code, stdout, stderr } = await run(['warmup:start', '--wait'], { cwd: await project() })
    expect(code).toBe(1)
    expect(stderr).toContain('2 of 3 URLs could not be cached')
    expect(stdout).toContain('1 × answered 404')
    expect(stdout).toContain('http://shop.example/private ')
  })

  it('exit with 0 under --allow-failures or without --wait', async () => {
    const cwd = await project()
    const allowed = await run(['warmup:start', '--wait', '--allow-failures', '--json'], { cwd })
    expect(allowed.code).toBe(0)
    expect(JSON.parse(allowed.stdout).progress).toMatchObject({
      processed_urls: 1,
      failed_urls: 2,
      checked_urls: 3,
      remaining_urls: 0,
      percentage: 100,
    })
    const plain = await run(['warmup:start', '--json'], { cwd })
    expect(plain.code).toBe(0)
    expect(Object.keys(JSON.parse(plain.stdout))).toEqual(['success', 'progressId', 'totalUrls'])
    expect(plain.stderr).toContain('No worker is running')
    expect(origin.hits('/fine')).toBe(1)
  })

  it('a run without URLs is completed without a worker', async () => {
    const cwd = await tempDir()
    const { code, stdout, stderr } = await run(['warmup:start'], { cwd })
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 URLs')])
    expect(stderr).not.toContain('worker')
  })

  it('are listed with reasons, filtered by status, reason and URL, and exported', async () => {
    openShop('http://shop.example', [...paths, '/=gone'])
    origin.on('/gone', { status: 404 })
    origin.on('/private', { headers: { 'cache-control': 'private' }, body: 'x' })
    origin.on('/=gone', { status: 410 })
    const cwd = await project()
    await run(['warmup:start', '--wait', '--allow-failures'], { cwd })
    const value = JSON.parse((await run(['warmup:failures', '--json'], { cwd })).stdout)
    expect(value).toMatchObject({
      success: true,
      total: 3,
      limit: 50,
      offset: 0,
      reasons: expect.arrayContaining([{ error: 'Cache-Control: private', count: 1 }]),
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
      JSON.parse((await run(['warmup:failures', '--json', ...flags], { cwd })).stdout).items.map(
        ({ url }: { url: string }) => url,
      )
    expect(await found('--status', '404')).toEqual(['http://shop.example/gone'])
    expect(await found('--error', 'PRIVATE')).toEqual(['http://shop.example/private'])
    expect(await found('--url', '/gone')).toEqual(['http://shop.example/gone'])
    const csv = await run(['warmup:failures', '--csv'], { cwd })
    expect(csv.stdout.split('\n')[0]).toBe('url,variant,status,error,attempts,at')
    expect(csv.stdout.split('\n')).toHaveLength(5)
    expect(await run(['warmup:failures', '--status', '99'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('100 to 599'),
    })
  })

  it('exit with 1 under --json too, with the value on stdout', async () => {
    const { code, stdout } = await run(['warmup:start', '--wait', '--json'], { cwd: await project() })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ success: true, progress: { failed_urls: 2 } })
  })
})

it('a failed discovery makes a failed run: exit 1 with the reason, with or without --wait', async () => {
  const cwd = await project()
  for (const flags of [['--wait'], []]) {
    const { code, stderr } = await run(['warmup:start', ...flags], { cwd })
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
  const { stdout, stderr } = await run(['warmup:start', '--wait'], { cwd })
  expect(stdout + stderr).not.toContain('\u001b')
})

it('--dry-run lists what would be fetched, fetches no page and creates no run', async () => {
  openShop('http://shop.example', ['/a', '/b', 'http://evil.example/'])
  const cwd = await project()
  const { code, stdout } = await run(['warmup:start', '--dry-run'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toBe(
    '2 URLs would be fetched.\n  http://shop.example/a\n  http://shop.example/b\nLeft out: 1 of other hosts or channels.\n',
  )
  const json = JSON.parse((await run(['warmup:start', '--dry-run', '--json'], { cwd })).stdout)
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
  await run(['warmup:start', '--wait'], { cwd })
  openShop('http://shop.example', paths)
  const planned = async (...flags: string[]) =>
    JSON.parse((await run(['warmup:start', '--dry-run', '--json', ...flags], { cwd })).stdout)
  expect(await planned()).toMatchObject({ totalUrls: 127, fresh: 3, urls: { length: 100 } })
  expect(await planned('--force')).toMatchObject({ totalUrls: 130, fresh: 0 })
  const { stdout } = await run(['warmup:start', '--dry-run'], { cwd })
  expect(stdout.split('\n')).toEqual([
    '127 URLs would be fetched.',
    ...paths.slice(3, 23).map((path) => `  http://shop.example${path}`),
    '  ... and 107 more.',
    'Already fresh: 3.',
    '',
  ])
})

describe('over the API', () => {
  let daemon: Awaited<ReturnType<typeof startDaemon>>
  let api: (
    path: string,
    body?: object,
  ) => Promise<{ status: number; value: Record<string, unknown> & { progress: { message: string } | null } }>

  beforeEach(async () => {
    daemon = await startDaemon({
      args: ['--no-workers'],
      config: (url) => ({ salesChannels: channels(url), cache: { types: [{ type: 'listings', path: '/l/*' }] } }),
    })
    const { clientId, clientSecret } = JSON.parse(
      (await daemon.run('client:create', 'test', '--scope', 'write', '--json')).stdout,
    )
    const token = await fetch(`${daemon.url}/api/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
    })
    const { access_token } = (await token.json()) as { access_token: string }
    api = async (path, body) => {
      const response = await fetch(`${daemon.url}/api/_action/vendor-cache${path}`, {
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: response.status, value: (await response.json()) as never }
    }
  })

  afterEach(() => daemon.stop())

  it('on a cold cache types are matched by path rules; unknown types are taken only on request', async () => {
    openShop(daemon.url, ['/l/1', '/l/2', '/detail/1', '/other'])
    const listings = await api('/warmup/start', { types: ['listings'] })
    expect(listings).toMatchObject({
      status: 200,
      value: { totalUrls: 2, discovery: { otherTypes: 1, unknownType: 1 } },
    })
    expect((await api('/warmup/progress?progressId=')).value.progress).toMatchObject({
      id: listings.value['progressId'],
      message: 'Left out: 1 of other types, 1 of unknown type',
    })
    expect(await api('/warmup/start', { types: ['listings', 'unknown'] })).toMatchObject({
      value: { totalUrls: 3, discovery: { unknownType: 0 } },
    })
    const all = await api('/warmup/start', {})
    expect(all.value).toEqual({ success: true, progressId: expect.any(String), totalUrls: 4 })
    expect((await api('/warmup/watch?progressId=')).value.progress).toMatchObject({
      id: all.value['progressId'],
      message: null,
    })
    expect(await api('/warmup/start', { types: ['unkown'] })).toMatchObject({ status: 400 })
  })

  it('named URLs are validated like those of a purge, and skipped ones are counted', async () => {
    for (const url of ['http://evil.example/', 'shop', '//evil.example/', 'http://[', 'ftp://x/', ''])
      expect(await api('/warmup/start', { urls: [url] }), url).toMatchObject({ status: 400, value: { success: false } })
    const started = await api('/warmup/start', {
      urls: [`${daemon.url}/a`, '/a', '/checkout/x', `/${'x'.repeat(3000)}`, '/b'],
    })
    expect(started).toMatchObject({
      status: 200,
      value: { totalUrls: 2, discovery: { duplicates: 1, excluded: 1, malformed: 1, foreign: 0 } },
    })
    expect((await api('/warmup/progress')).value.progress!.message).toBe(
      'Left out: 1 never cached or with side effects, 1 malformed, 1 duplicate',
    )
  })
})

it('an unknown sales channel exits with 3, a batch size out of range with 2; without channels there is nothing to do', async () => {
  const cwd = await project()
  expect(await run(['warmup:start', '--sales-channel', 'nope'], { cwd })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(id),
  })
  expect(await run(['warmup:start', '--batch-size', '1001'], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('1 to 1000'),
  })
  const empty = await run(['warmup:start', '--wait', '--json'], { cwd: await tempDir() })
  expect(empty.code).toBe(0)
  expect(JSON.parse(empty.stdout)).toMatchObject({ totalUrls: 0, progress: { status: 'completed', percentage: 100 } })
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
  await until(() => expect(origin.requests.filter(({ path }) => paths.slice(8).includes(path)).length).toBe(4))
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  const progress = await progressIn(cwd)
  expect(progress).toMatchObject({
    status: 'paused',
    total_urls: 40,
    processed_urls: 12,
    checked_urls: 12,
    remaining_urls: 28,
  })
  expect(origin.requests.filter(({ path }) => paths.includes(path))).toHaveLength(12)
})

it('a daemon started with --origin warms its channel with its own workers', { timeout: 60_000 }, async () => {
  const daemon = await startDaemon({ args: ['--origin', origin.url] })
  try {
    openShop(daemon.url, ['/a', '/b'])
    const { clientId, clientSecret } = JSON.parse(
      (await daemon.run('client:create', 'test', '--scope', 'write', '--json')).stdout,
    )
    const at = ['--server', daemon.url, '--wait', '--json'] as const
    const { code, stdout, stderr } = await run(['warmup:start', ...at], {
      cwd: await tempDir(),
      env: { PAGECACHE_CLIENT_ID: clientId, PAGECACHE_CLIENT_SECRET: clientSecret },
    })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ totalUrls: 2, progress: { status: 'completed', processed_urls: 2 } })
  } finally {
    await daemon.stop()
  }
})
