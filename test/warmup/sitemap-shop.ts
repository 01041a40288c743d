import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach } from 'vitest'
import { openRecords } from '../helpers/records.ts'
import { readProgress } from '../../src/warmup/run/runs.ts'
import { type Origin, startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

export const id = '0190c0de-0000-7000-8000-000000000001'

export const page = (title: string) => ({
  headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' },
  body: `<h1>${title}</h1>`,
})

export let origin: Origin

/** Starts an origin for each test of the file that calls it. */
export function useOrigin(): void {
  beforeEach(async () => {
    origin = await startOrigin()
  })

  afterEach(() => origin.stop())
}

/** A shop with a sitemap index, one gzip child and some pages. */
export function openShop(url: string, paths: readonly string[]): void {
  origin.on('/sitemap.xml', { body: `<sitemapindex><sitemap><loc>${url}/1.xml.gz</loc></sitemap></sitemapindex>` })
  origin.on('/1.xml.gz', {
    body: gzipSync(
      `<urlset>${paths.map((path) => `<url><loc>${path.startsWith('/') ? url + path : path}</loc></url>`).join('')}</urlset>`,
    ),
  })
  for (const path of paths) if (path.startsWith('/')) origin.on(path, page(path))
}

export const channels = (url: string) => [{ id, name: 'Shop', url, origin: origin.url, sitemaps: ['/sitemap.xml'] }]

/** A project directory without a daemon. */
export async function project(warmup: object = { retries: 0 }): Promise<string> {
  const directory = await tempDir()
  await writeFile(
    join(directory, 'pagecache.yaml'),
    JSON.stringify({ salesChannels: channels('http://shop.example'), warmup }),
  )
  return directory
}

export async function progressIn(directory: string) {
  const data = join(directory, 'var/data/prod')
  await mkdir(data, { recursive: true })
  const records = await openRecords({ directory: data, now: Date.now })
  try {
    return await readProgress(records)
  } finally {
    await records.close()
  }
}
