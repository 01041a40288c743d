import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readPurgedPages } from '../../src/purge/log/purged-pages.ts'
import type { Records } from '../../src/records/open.ts'
import { openRecords } from '../helpers/records.ts'
import { purgedUrls } from '../../src/warmup/discover/purged-urls.ts'
import { pruneRuns } from '../../src/warmup/run/prune-runs.ts'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { WarmupBench } from '../helpers/warmup-bench.ts'
import { until } from '../helpers/until.ts'
import { runRow } from './run-row.ts'

const id = '0190c0de-0000-7000-8000-000000000001'
const page = {
  headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600', xkey: 'all-of-them' },
  body: '<h1>page</h1>',
}

async function purge(records: Records, url: string, at: number, pagesRemoved = 1): Promise<void> {
  const { id: urlId } = await records.db
    .insertInto('purge_urls')
    .values({ url, last_purged_at: at })
    .returning('id')
    .executeTakeFirstOrThrow()
  const { id: purgeId } = await records.db
    .insertInto('purges')
    .values({
      invalidation_id: 1,
      created_at: at,
      source: 'cli',
      kind: 'url',
      url_id: urlId,
      tag_id: null,
      entity_id: null,
      value: null,
      soft: 0,
      pages_removed: pagesRemoved,
      response_time: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await records.db.insertInto('purge_pages').values({ url_id: urlId, purge_id: purgeId }).execute()
}

it('purged URLs are listed if they were cached and have not been found gone since', async () => {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  await purge(records, 'http://a/old', 100)
  await purge(records, 'http://a/new', 200)
  await purge(records, 'http://a/never-held', 200, 0)
  await purge(records, 'http://a/gone', 200)
  await records.db
    .insertInto('warmup_runs')
    .values(runRow({ id, status: 'completed', finished_at: 1 }))
    .execute()
  await records.db
    .insertInto('warmup_failures')
    .values({
      id,
      run_id: id,
      url: 'http://a/gone',
      variant: 0,
      status: 404,
      error: 'answered 404',
      attempts: 1,
      at: 300,
    })
    .execute()
  const found = async (since: number) => {
    const urls: string[] = []
    for await (const url of purgedUrls(records, readPurgedPages(records, since))) urls.push(url)
    return urls
  }
  expect(await found(0)).toEqual(['http://a/old', 'http://a/new'])
  expect(await found(150)).toEqual(['http://a/new'])
})

it('a warmup ends with purged pages that no sitemap lists', async () => {
  const origin = await startOrigin()
  onTestFinished(() => origin.stop())
  origin.on('/sitemap.xml', { body: '<urlset><url><loc>http://shop.example/a</loc></url></urlset>' })
  for (const path of ['/a', '/hidden']) origin.on(path, page)
  const cwd = await tempDir()
  await writeFile(
    join(cwd, 'pagecache.yaml'),
    JSON.stringify({
      salesChannels: [{ id, name: 'Shop', url: 'http://shop.example', origin: origin.url, sitemaps: ['/sitemap.xml'] }],
    }),
  )
  await runCommand(['warmup:list'], cwd)
  const records = await openRecords({ directory: join(cwd, 'var/data/prod'), now: Date.now })
  for (const url of [
    'http://shop.example/hidden',
    'http://shop.example/a',
    'http://other.example/x',
    'http://shop.example/checkout/x',
  ])
    await purge(records, url, Date.now())
  await records.close()
  const warmed = JSON.parse((await runCommand(['warmup:start', '--wait', '--json'], cwd)).stdout)
  expect(warmed).toMatchObject({ totalUrls: 2, progress: { status: 'completed', processed_urls: 2 } })
  expect(origin.requests.filter(({ path }) => path === '/a' || path === '/hidden').map(({ path }) => path)).toEqual([
    '/a',
    '/hidden',
  ])
})

it('with warmup.afterPurge a purged page is cached again soon', async () => {
  const origin = await startOrigin()
  onTestFinished(() => origin.stop())
  origin.on('/sitemap.xml', { status: 404 })
  for (const path of ['/a', '/b']) origin.on(path, page)
  const daemon = await startDaemon({
    config: (url) => ({
      salesChannels: [{ id, name: 'Shop', url, origin: origin.url }],
      warmup: { afterPurge: '300ms' },
    }),
  })
  onTestFinished(async () => void (await daemon.stop()))
  for (const path of ['/a', '/b']) await (await fetch(daemon.url + path)).text()
  // A command is another process, which counts and logs stored pages only.
  await until(async () => (await daemon.run('cache:list', '--json')).stdout.includes('/a'))
  expect((await daemon.run('purge:url', `${daemon.url}/a`, '--json')).code).toBe(0)
  await until(() => expect(origin.hits('/a')).toBe(2))
  await until(async () =>
    expect(JSON.parse((await daemon.run('warmup:progress', '--json')).stdout).progress).toMatchObject({
      status: 'completed',
      processed_urls: 1,
      message: 'Warming purged pages again',
    }),
  )
  expect((await fetch(`${daemon.url}/a`)).headers.get('cache-status')).toContain('hit')
  expect([origin.hits('/a'), origin.hits('/b')]).toEqual([2, 1])
})

it('with purge.softAbove a common tag leaves its pages stale, and a warmup renews them, the most visited first', async () => {
  const origin = await startOrigin()
  onTestFinished(() => origin.stop())
  const names = ['a', 'b', 'c', 'd']
  // A purge of fewer pages is never soft.
  const others = Array.from({ length: 46 }, (_, number) => `other-${number}`)
  let version = 1
  for (const name of [...names, ...others, 'own'])
    origin.on(`/${name}`, () => ({
      headers: { ...page.headers, xkey: name === 'own' ? 'own' : 'menu' },
      body: `version ${version}`,
    }))
  const daemon = await startDaemon({
    config: (url) => ({
      salesChannels: [{ id, name: 'Shop', url, origin: origin.url, sitemaps: ['/none.xml'] }],
      cache: { grace: '1h' },
      purge: { softAbove: '20%' },
      warmup: { concurrency: 1, requestsPerSecond: 50 },
    }),
  })
  onTestFinished(async () => void (await daemon.stop()))
  const visit = async (path: string) => {
    const answer = await fetch(daemon.url + path)
    return { text: await answer.text(), status: answer.headers.get('cache-status') ?? '' }
  }
  const visits = { '/a': 1, '/b': 4, '/c': 2, '/d': 3, '/own': 1 }
  for (const [path, count] of Object.entries(visits))
    for (let visited = 0; visited < count; visited += 1)
      await until(async () => (await visit(path)).status.includes(visited === 0 ? 'pagecache' : 'hit'))
  await Promise.all(others.map((name) => visit(`/${name}`)))
  const read = async (...args: string[]) => JSON.parse((await daemon.run(...args, '--json')).stdout)
  // The daemon writes hits every few seconds.
  await until(async () => {
    const { items } = await read('cache:list', '--limit', '100')
    return items.length === 51 && items.find((item: { url: string }) => item.url.endsWith('/b')).hits === 3
  })

  version = 2
  origin.forget()
  expect(await read('purge:tag', 'menu', 'own', '--dry-run')).toMatchObject({
    wouldRemove: 51,
    softened: [{ tag: 'menu', pages: 50, share: 0.98 }],
  })
  const answer = await fetch(daemon.url, { method: 'PURGE', headers: { xkey: 'menu' } })
  expect([answer.status, answer.headers.get('x-purge-softened'), await answer.text()]).toEqual([
    200,
    'menu',
    'Invalidated 50 objects',
  ])
  const asked = () => origin.requests.map(({ path }) => path).filter((path) => path !== '/robots.txt')
  await until(() => asked().length === 50)
  expect(asked().slice(0, 4)).toEqual(['/b', '/d', '/c', '/a'])
  await until(async () => expect((await read('warmup:progress')).progress.status).toBe('completed'))
  for (const name of names)
    expect(await visit(`/${name}`)).toMatchObject({ text: 'version 2', status: expect.stringMatching(/hit/) })
  expect((await visit('/own')).text).toBe('version 1')
  expect((await read('reverse-proxy:recent')).items[0]).toMatchObject({
    tag: 'menu',
    mode: 'softened',
    pagesRemoved: 50,
  })

  const { stdout } = await daemon.run('purge:tag', 'menu', 'own', '--dry-run')
  expect(stdout).toContain('menu is on 98.0 % of all pages, more than purge.softAbove.')
  version = 3
  const hard = await fetch(daemon.url, { method: 'PURGE', headers: { xkey: 'menu', 'xkey-hardpurge': '1' } })
  expect(hard.headers.has('x-purge-softened')).toBe(false)
  expect((await visit('/a')).text).toBe('version 3')
  expect((await daemon.run('purge:tag', 'menu', '--hard', '--soft')).code).toBe(2)

  // The pages that the purge removed are known from its log.
  const warmed = await read('warmup:start', '--tag', 'menu', '--order', 'hits', '--wait')
  expect(warmed).toMatchObject({ totalUrls: 50, progress: { processed_urls: 50, skipped_urls: 1 } })
  expect(await read('warmup:start', '/a', '/own', '--tag', 'own', '--force', '--dry-run')).toMatchObject({
    totalUrls: 1,
    discovery: { otherTags: 1 },
  })
  expect((await daemon.run('warmup:start', '--tag', 'unknown', '--dry-run')).stderr).toContain(
    'no cached page has the tag unknown',
  )
  for (const wrong of [['--order', 'size'], ['--tag', 'a b'], ['--type', 'x'], ['http://other.example/a']])
    expect((await daemon.run('warmup:start', ...wrong)).code, String(wrong)).toBe(2)
})

it('ended runs are pruned in slices with all their rows; other runs and batches of a run being created stay', async () => {
  const bench = await WarmupBench.open(await tempDir())
  onTestFinished(() => bench.close())
  const old = await bench.newRun([{ urls: Array.from({ length: 60 }, (_, number) => `http://a/${number}`) }])
  bench.startWorker(async (url) =>
    url.endsWith('7')
      ? { kind: 'failed', status: 404, error: 'answered 404', retryAfter: null, ms: 1 }
      : { kind: 'stored', status: 200, ms: 1 },
  )
  await bench.ended(old.id)
  const ended = Date.now() + 1
  const kept = await bench.newRun([], {})
  await bench.records.db
    .updateTable('warmup_runs')
    .set({ finished_at: ended + 1000 })
    .where('id', '=', kept.id)
    .execute()
  const batch = {
    number: 0,
    sales_channel_id: 'a',
    urls: '[]',
    size: 0,
    taken: '',
    done: '',
    openings: 0,
    finished_at: null,
  }
  const [lost, writing] = ['00000000-0000-7000-8000-000000000000', 'ffffffff-0000-7000-8000-000000000000']
  for (const run_id of [lost, writing])
    await bench.records.db
      .insertInto('warmup_batches')
      .values({ ...batch, run_id })
      .execute()
  const slices: number[] = []
  for (let rows = 1; rows > 0; slices.push(rows))
    rows = await pruneRuns(bench.records, { before: ended + 500, limit: 4 })
  expect(slices).toEqual([4, 2, 4, 2, 1, 1, 0])
  expect((await bench.records.db.selectFrom('warmup_runs').select('id').execute()).map((row) => row.id)).toEqual([
    kept.id,
  ])
  expect(
    (await bench.records.db.selectFrom('warmup_batches').select('run_id').execute()).map((row) => row.run_id),
  ).toEqual([writing])
  for (const table of ['warmup_failures', 'warmup_live'] as const)
    expect(await bench.records.db.selectFrom(table).selectAll().execute()).toEqual([])
})
