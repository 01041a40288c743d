import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  cacheStatistics,
  clearApplicationCache,
  clearPages,
  clearPagesByType,
  listPages,
} from '../../src/operations/cache.ts'
import { inspectPage } from '../../src/operations/inspect.ts'
import { urlFlow } from '../../src/operations/purge-log.ts'
import { allScopes, type Given, performOperation } from '../../src/operations/operation.ts'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { emptyStatistics } from './empty-statistics.ts'
import { openApp, projectWithPages } from './pages-project.ts'
import { perform } from './perform.ts'

describe('statistics', () => {
  it('have every field, with zeros for an empty cache', async () => {
    expect(await perform(await openApp(await tempDir()), cacheStatistics, {})).toEqual(emptyStatistics)
  })

  it('count pages, bytes, and seconds', async () => {
    const { app } = await projectWithPages()
    const pages = await app.pages()
    const [page] = pages.findByUrl('http://shop.example/p/1')
    pages.recordHits([{ page: page!, hits: 4, ms: 2, usedAt: app.now() }])
    expect(await perform(app, cacheStatistics, {})).toMatchObject({
      totalFiles: 3,
      totalSize: 1200,
      totalSizeFormatted: '1.17 KB',
      byType: { products: 2, cms: 1, categories: 0 },
      aggregated: {
        totalPages: 3,
        totalOriginalSize: 3000,
        totalCachedSize: 1200,
        totalSpaceSaved: 1800,
        avgGenerationTime: 0.25,
        avgCacheHitTime: 0.0005,
      },
      byTypeDetailed: {
        product: { count: 2, spaceSaved: 1200, avgGenerationTime: 0.25, avgCacheHitTime: 0.0005 },
        cms: { count: 1, avgCacheHitTime: 0 },
      },
    })
  })
})

describe('list', () => {
  it('filters by type, tag and prefix, and pages through', async () => {
    const { app } = await projectWithPages()
    const urls = async (input: Given<typeof listPages.input>) =>
      (await perform(app, listPages, input)).items.map((page) => page.url).sort()
    expect(await urls({})).toHaveLength(3)
    expect(await urls({ type: 'cms' })).toEqual(['http://shop.example/'])
    expect(await urls({ tag: 'tag-products' })).toEqual(['http://shop.example/p/1', 'http://shop.example/p/2'])
    expect(await urls({ prefix: 'http://shop.example/p/2' })).toEqual(['http://shop.example/p/2'])
    expect(await perform(app, listPages, { limit: '1', offset: '1' })).toMatchObject({
      total: 3,
      limit: 1,
      offset: 1,
      items: [{}],
    })
  })

  it('distinguishes fresh and stale pages', async () => {
    const { app } = await projectWithPages()
    const { items } = await perform(app, listPages, { type: 'cms' })
    expect(items).toMatchObject([{ state: 'stale', age: 61, freshnessLeft: expect.any(Number) as number }])
    expect(items[0]?.freshnessLeft).toBeLessThan(0)
  })

  it.each([
    { limit: 0 },
    { limit: 1001 },
    { limit: 1.5 },
    { limit: '1e2' },
    { limit: null },
    { offset: -1 },
    { type: 'product' },
    { tag: '' },
  ])('refuses %j and names the field', async (input) => {
    const app = await openApp(await tempDir())
    const context = {
      app,
      source: 'api' as const,
      actor: null,
      scopes: allScopes,
      signal: app.signal,
      report: () => {},
    }
    await expect(performOperation(listPages, context, input)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      status: 400,
      message: expect.stringMatching(new RegExp(`^${Object.keys(input)[0] ?? ''}: expected `)) as string,
    })
  })

  it('ignores unknown fields', async () => {
    const unknown = { anything: 1 } as Given<typeof listPages.input>
    expect(await perform(await openApp(await tempDir()), listPages, unknown)).toMatchObject({ total: 0 })
  })
})

describe('clear', () => {
  it('removes all pages or a type, and counts exactly', async () => {
    const { app } = await projectWithPages()
    expect(await perform(app, clearPagesByType, { type: 'products' })).toEqual({
      success: true,
      filesDeleted: 2,
      type: 'products',
    })
    expect(await perform(app, clearPages, {})).toEqual({ success: true, filesDeleted: 1 })
    expect(await perform(app, clearPages, {})).toEqual({ success: true, filesDeleted: 0 })
  })

  it('lists with dryRun what would be removed, and changes nothing', async () => {
    const { app } = await projectWithPages()
    const value = await perform(app, clearPagesByType, { type: 'products', dryRun: true })
    expect(value).toMatchObject({ success: true, filesDeleted: 0, dryRun: true, wouldDelete: 2, type: 'products' })
    expect(value.pages?.map((page) => page.url).sort()).toEqual(['http://shop.example/p/1', 'http://shop.example/p/2'])
    expect((await perform(app, clearApplicationCache, { dryRun: true })).wouldDelete).toBe(3)
    expect((await perform(app, listPages, {})).total).toBe(3)
  })

  it('of the application cache removes the pages and keeps the state', async () => {
    const { app, projectDir } = await projectWithPages()
    await app.close()
    await mkdir(join(projectDir, 'var/data/prod'), { recursive: true })
    await writeFile(join(projectDir, 'var/data/prod/state'), 'keep')
    await writeFile(join(projectDir, 'var/cache/prod/other'), 'of somebody else')
    const { code, stdout } = await run(['cache:clear', '--json'], { cwd: projectDir })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ success: true, filesDeleted: 3 })
    expect(await readdir(join(projectDir, 'var/data/prod'))).toContain('state')
    const after = await run(['cache:stats', '--json'], { cwd: projectDir })
    expect(JSON.parse(after.stdout)).toMatchObject({ totalFiles: 0 })
  })

  it('keeps to its environment', async () => {
    const { app, projectDir } = await projectWithPages()
    await app.close()
    const other = await run(['vendor:cache:clear', '--env', 'staging'], { cwd: projectDir })
    expect(other).toMatchObject({ code: 0, stdout: '0 files removed.\n' })
    const prod = await run(['vendor:cache:clear', '--env', 'prod'], { cwd: projectDir })
    expect(prod).toMatchObject({ code: 0, stdout: '3 files removed.\n' })
  })
})

describe('inspect', () => {
  const given = [
    { id: '0190c0de-0000-7000-8000-000000000001', url: 'https://shop.example/de', origin: 'http://127.0.0.1:1' },
  ]

  it.each([
    ['foo', 'Did you mean the path /foo?'],
    ['foo/bar?a=1', 'Did you mean the path /foo/bar?a=1?'],
    ['?p=2', 'Did you mean the path /?p=2?'],
    ['foo bar', 'Include scheme and host, for example https://shop.example/de/.'],
    ['javascript:alert(1)', 'Include scheme and host'],
    ['ftp://shop.example/', 'Include scheme and host'],
    ['http://', 'Include scheme and host'],
    ['//shop.example/', 'Include scheme and host'],
    ['shop.example/de/page1', 'Did you mean https://shop.example/de/page1?'],
    ['other.example:8080/page1?a=1', 'Did you mean http://other.example:8080/page1?a=1?'],
    ['localhost:8080', 'Did you mean http://localhost:8080?'],
    ['http:shop.example', 'Include scheme and host'],
  ])('rejects %j, which is not an absolute URL', async (url, hint) => {
    const projectDir = await tempDir()
    await writeFile(join(projectDir, 'pagecache.yaml'), JSON.stringify({ salesChannels: given }))
    const app = await openApp(projectDir)
    const refusal = {
      code: 'INVALID_INPUT',
      exit: 2,
      message: `url: ${url} is not an absolute URL`,
      hint: expect.stringContaining(hint) as string,
    }
    await expect(perform(app, inspectPage, { url })).rejects.toMatchObject(refusal)
    await expect(perform(app, urlFlow, { url })).rejects.toMatchObject(refusal)
  })

  it('says so when the URL belongs to no sales channel', async () => {
    expect(await perform(await openApp(await tempDir()), inspectPage, { url: 'http://shop.example/' })).toMatchObject({
      success: true,
      cached: false,
      reason: expect.stringContaining('No sales channel') as string,
      pages: [],
    })
  })
})
