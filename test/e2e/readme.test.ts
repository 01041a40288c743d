import { expect, it, onTestFinished } from 'vitest'
import { startShop } from '../../src/demo/shop.ts'
import { freePort, startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { followReadme, readmeCommands, type Step } from '../helpers/readme.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** What a command of the README printed, by its beginning. */
function outputOf(steps: readonly Step[], command: string): string {
  return steps.findLast((step) => step.command.startsWith(command))?.stdout ?? ''
}

/** A plain site without a cache header, as many web servers send files. test/e2e/wordpress.test.ts follows the README with a WordPress. */
async function startStaticSite(publicUrl: () => string) {
  const pages = Array.from({ length: 23 }, (_, index) => `/page-${index}`)
  const site = await startOrigin({
    otherwise: ({ path }) => ({ headers: { 'content-type': 'text/html' }, body: `<html>${path}` }),
  })
  onTestFinished(() => site.stop())
  site.on('/robots.txt', { status: 404 })
  site.on('/sitemap.xml', () => ({
    headers: { 'content-type': 'application/xml' },
    body: `<urlset>${pages.map((page) => `<url><loc>${publicUrl()}${page}</loc></url>`).join('')}</urlset>`,
  }))
  return { site, pages }
}

it('has the steps that the tests follow', async () => {
  expect((await readmeCommands()).map((command) => command.split(' ').slice(0, 2).join(' '))).toEqual([
    'pagecache serve',
    'curl -sI',
    'pagecache doctor',
    'pagecache warmup:start',
    'pagecache init',
    'pagecache serve',
    'pagecache doctor',
    'pagecache config:show',
    'pagecache config:reload',
    'pagecache warmup:start',
    'pagecache cache:stats',
    'pagecache cache:traffic',
    'pagecache cache:list',
    'pagecache cache:inspect',
    'pagecache purge:tag',
    'pagecache reverse-proxy:url-flow',
    'pagecache reverse-proxy:stats',
    'pagecache vendor:cache:clear',
  ])
})

it('works word by word with the demo shop', async () => {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const shop = await startShop({ fronted: true, latency: 'off', publicUrls: { en: publicUrl, de: `${publicUrl}/de` } })
  onTestFinished(() => shop.close())
  const steps = await followReadme(await tempDir(), { origin: shop.url, port, publicUrl, page: '/dune-lamp/HP-2ADB0E' })
  expect(outputOf(steps, 'curl')).toMatch(/Cache-Status: pagecache; hit; ttl=\d+/)
  expect(outputOf(steps, 'pagecache doctor')).toContain(' 0 failed.')
  expect(outputOf(steps, 'pagecache warmup:start')).toMatch(/Failed: +0\n/)
  expect(outputOf(steps, 'pagecache cache:inspect')).toContain('cached: yes')
  expect(outputOf(steps, 'pagecache reverse-proxy:url-flow')).toContain('\ttag\t')
})

it('works word by word with a site that names no lifetimes, and says before what to do', async () => {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const { site, pages } = await startStaticSite(() => publicUrl)
  const without = await startDaemon({ port, args: ['--origin', site.url] })
  const failed = await without.run('warmup:start', '--wait')
  expect(failed.code).toBe(1)
  expect(failed.stdout).toMatch(/23 × no freshness and no validator\n.*pagecache serve --ttl 10m/)
  const noted = await without.run('init', '--origin', site.url, '--url', publicUrl, '--force')
  expect(noted.stdout).toContain('set cache.defaultTtl')
  await without.stop()

  const shop = { origin: site.url, port, publicUrl, page: pages[0]!, flags: ['--ttl', '10m'] }
  const steps = await followReadme(await tempDir(), shop)
  expect(outputOf(steps, 'pagecache warmup:start')).toMatch(/URLs: +23\n[^]*Failed: +0\n/)
  // init took the lifetime from the running daemon.
  expect(outputOf(steps, 'pagecache config:show')).toMatch(/cache\.defaultTtl\t"10m"\tpagecache\.yaml/)
  expect(outputOf(steps, 'pagecache cache:inspect')).toContain('cached: yes')
  expect(outputOf(steps, 'pagecache vendor:cache:clear')).toContain('removed')
})
