import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../helpers/commands.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const concurrency = 8
const pages = 600
/** ms. Long beside what a page costs the daemon: on a busy machine too there are several requests in progress. */
const pageTime = 100
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

/** A shop whose pages take `pageTime`, except those that it refuses at once. */
async function openShop(refuses: (page: number) => boolean) {
  const origin = await startOrigin()
  onTestFinished(() => origin.stop())
  const paths = Array.from({ length: pages }, (_, page) => `/p/${page}`)
  const locations = paths.map((path) => `<url><loc>http://shop.example${path}</loc></url>`)
  origin.on('/sitemap.xml', { body: `<urlset>${locations.join('')}</urlset>` })
  /** Requests in progress at the start of each one. */
  const concurrent: number[] = []
  let inProgress = 0
  for (const [page, path] of paths.entries()) {
    origin.on(path, async () => {
      concurrent.push(++inProgress)
      if (!refuses(page)) await pause(pageTime)
      inProgress--
      return refuses(page)
        ? { status: 503 }
        : { headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' }, body: path }
    })
  }
  const projectDir = await tempDir()
  const channel = {
    id: '0190c0de-0000-7000-8000-000000000001',
    url: 'http://shop.example',
    origin: origin.url,
    sitemaps: ['/sitemap.xml'],
  }
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    JSON.stringify({ salesChannels: [channel], warmup: { concurrency, retries: 1 } }),
  )
  const run = async (...args: string[]) => JSON.parse((await runCommand([...args, '--json'], projectDir)).stdout)
  return { origin, paths, concurrent, run }
}

it('a shop of which every tenth page answers 503 is warmed at full concurrency', async () => {
  const refuses = (page: number) => page % 10 === 9
  const { origin, paths, concurrent, run } = await openShop(refuses)
  const { progress } = await run('warmup:start', '--wait', '--allow-failures')
  expect(progress).toMatchObject({ status: 'completed', total_urls: pages, processed_urls: 540, failed_urls: 60 })
  for (const [page, path] of paths.entries()) expect(origin.hits(path), path).toBe(refuses(page) ? 2 : 1)
  const { total, items } = await run('warmup:failures', '--limit', '100')
  expect(total).toBe(60)
  for (const item of items) expect(item).toMatchObject({ status: 503, attempts: 2 })
  // If each 503 halved the concurrency, it would stay at one or two. A busy machine may lower it to a half once.
  for (const start of [150, 300, 450])
    expect(Math.max(...concurrent.slice(start, start + 90))).toBeGreaterThanOrEqual(concurrency / 2)
})

it('a shop of which every other page answers 503 is warmed more slowly, and to its end', async () => {
  const { concurrent, run } = await openShop((page) => page >= 100 && page < 160 && page % 2 === 0)
  const { progress } = await run('warmup:start', '--wait', '--allow-failures')
  expect(progress).toMatchObject({ status: 'completed', total_urls: pages, processed_urls: 570, failed_urls: 30 })
  expect(Math.max(...concurrent.slice(140, 155))).toBeLessThan(concurrency)
})
