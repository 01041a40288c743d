import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { scratch } from '../helpers/scratch.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { draft } from '../pages/draft.ts'

const root = '0190c0de-0000-7000-8000-000000000001'
const de = '0190c0de-0000-7000-8000-000000000002'

describe('own paths with channels below a path', () => {
  let origin: Origin
  let daemon: Daemon
  let project: Awaited<ReturnType<typeof scratch>>

  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: {
        headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60, stale-while-revalidate=600' },
        body: 'from the shop',
      },
    })
    project = await scratch('own-paths')
    // Pages that an older version stored under the keys of the daemon's endpoints, for both channels: fresh, stale and a 404.
    const store = await openFilesystemStore({
      directory: join(project.path, 'var/cache/prod'),
      maxSize: null,
      now: Date.now,
      onWarning: () => {},
    })
    for (const [channel, paths] of Object.entries({
      [de]: ['/de/vendor-stage/active', '/de/vendor-stage/client.js'],
      [root]: ['/readyz', '/metrics', '/vendor-stage/active', '/admin', '/api/_info/docs', '/readyz?a=b'],
    })) {
      for (const path of paths) {
        const url = `http://shop.example${path}`
        const page = draft(path, {
          key: `${channel} ${url}`,
          url,
          channelId: channel,
          status: path === '/metrics' ? 404 : 200,
          cachedAt: Date.now(),
          deleteAt: Date.now() + 86_400_000,
          staleAt: Date.now() + (path.includes('client') ? -1000 : 600_000),
          staleWhileRevalidate: 6000,
        })
        await store.put(page, Buffer.from('an old page'), store.fence())
      }
    }
    await store.close()
    daemon = await startDaemon({
      projectDir: project.path,
      config: {
        cache: { bypass: { cookies: [], paths: [] } },
        salesChannels: [
          { id: root, name: 'Root', url: 'http://shop.example', origin: origin.url, sitemaps: ['/sitemap.xml'] },
          { id: de, name: 'De', url: 'http://shop.example/de', origin: origin.url, sitemaps: ['/sitemap.xml'] },
        ],
      },
    })
  })
  afterAll(async () => {
    await daemon?.stop()
    await origin?.stop()
    await project?.discard()
  })

  const get = async (path: string) =>
    (await exchange(daemon.url + path, { headers: { host: 'shop.example' } })).body.toString()

  it('pages that an older version stored for own paths are not found', async () => {
    expect(
      (JSON.parse((await daemon.run('cache:stats', '--json')).stdout) as { totalFiles: number }).totalFiles,
    ).toBeGreaterThan(0)
    for (const path of [
      '/readyz',
      '/readyz?a=b',
      '/%72eadyz',
      '/metrics',
      '/api/_info/docs',
      '/vendor-stage/active',
      '/x/../vendor-stage/active',
      '/de/vendor-stage/active',
      '/de/%76endor-stage/active',
      '/de/vendor-stage/client.js',
      '/de/./vendor-stage/client.js',
    ]) {
      for (let round = 0; round < 2; round++) expect(await get(path)).not.toMatch(/an old page|from the shop/)
    }
    expect(origin.requests).toEqual([])
  })

  it('/admin under the name of a channel is a page of the shop', async () => {
    expect(await get('/%61dmin/')).toBe('from the shop')
    expect(await get('/de/readyz')).toBe('from the shop')
    origin.forget()
  })

  it('cache:inspect reports them as endpoints without a request to the shop', async () => {
    for (const path of ['/readyz', '/%72eadyz', '/de/x/../vendor-stage/active']) {
      const { stdout } = await daemon.run('cache:inspect', `http://shop.example${path}`, '--json')
      expect(JSON.parse(stdout)).toMatchObject({
        cached: false,
        reason: expect.stringContaining('endpoint of the daemon') as string,
        pages: [],
      })
    }
    expect(origin.requests).toEqual([])
  })

  it('a warmup skips them, from sitemaps and by URL', async () => {
    const locations = [
      '/page',
      '/readyz',
      '/%72eadyz',
      '/x/../metrics',
      '/vendor-stage/active',
      '/de/vendor-stage/active',
      '/de/page',
    ]
    for (const sitemap of ['/sitemap.xml', '/de/sitemap.xml'])
      origin.on(sitemap, {
        headers: { 'content-type': 'application/xml' },
        body: `<urlset>${locations.map((path) => `<url><loc>http://shop.example${path}</loc></url>`).join('')}</urlset>`,
      })
    const { stdout, stderr } = await daemon.run('warmup:start', '--wait', '--json')
    expect(stderr).not.toContain('Error')
    expect(JSON.parse(stdout)).toBeTruthy()
    const asked = origin.requests.map(({ path }) => path).filter((path) => !/sitemap|robots/.test(path))
    expect(asked.toSorted()).toEqual(['/de/page', '/page'])
  })
})
