/**
 * Claim: starting a warmup of a million URLs does not block the event loop, and does not keep a million URLs in memory.
 *
 *   npx node bench/sitemap.ts [--urls 1000000] [--files 20] [--batch-size 50] [--json]
 *
 * Another process serves a sitemap index with `--files` gzipped files. The URLs are discovered, and the run, its batches and its messages
 * written, like `warmup:start` does. A run with a hundredth of the URLs precedes it, so that one-time costs are not counted. Memory is
 * the peak of the resident size minus the size before. Gaps are the longest blocks of the event loop during discovery and writing.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { withSteadyHeap } from '../src/lib/steady-heap.ts'
import { openRecords, type Records } from '../src/records/open.ts'
import { toChannel, type Channel } from '../src/cache/channel.ts'
import { Channels } from '../src/cache/channels.ts'
import { canonicaliser } from '../src/cache/target.ts'
import { openSitemapFetch } from '../src/warmup/discover/discover-fetch.ts'
import { defaultLimits } from '../src/warmup/discover/limits.ts'
import { planRun } from '../src/warmup/discover/plan.ts'
import { createRun } from '../src/warmup/run/runs.ts'
import { startChild } from '../test/helpers/child.ts'
import { scratch } from '../test/helpers/scratch.ts'

const { values } = parseArgs({
  options: {
    urls: { type: 'string', default: '1000000' },
    files: { type: 'string', default: '20' },
    'batch-size': { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
  },
})
const [urls, files, batchSize] = [Number(values.urls), Number(values.files), Number(values['batch-size'])]
const publicUrl = 'http://shop.example'

if (values.serve) await serve()
else await measure()

/** Serves `/<urls>/index.xml`, which lists the files of a sitemap with that number of URLs. */
async function serve(): Promise<void> {
  const made = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    const [, total = '', name = ''] = (request.url ?? '').split('/')
    const path = `${total}/${name}`
    const file =
      made.get(path) ?? (name === 'index.xml' ? index(total) : part(Number(total), Number.parseInt(name, 10)))
    if (!/^\d+$/.test(total)) return void response.writeHead(404).end()
    made.set(path, file)
    response.end(file)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  for (const total of [urls, urls / 100])
    for (let number = 0; number < files; number++) made.set(`${total}/${number}.xml.gz`, part(total, number))
  console.log((server.address() as AddressInfo).port)
}

function index(total: string): Buffer {
  return Buffer.from(
    `<sitemapindex>${Array.from({ length: files }, (_, number) => `<sitemap><loc>${publicUrl}/${total}/${number}.xml.gz</loc></sitemap>`).join('')}</sitemapindex>`,
  )
}

/** Entries like Shopware's: a few words, a number, a date, a priority; about 75 characters per URL. */
function part(total: number, number: number): Buffer {
  const words = ['shoes', 'trousers', 'garden', 'kitchen', 'outdoor', 'children', 'lighting', 'office']
  const entries = Array.from({ length: total / files }, (_, index_) => {
    const id = number * (total / files) + index_
    const path = `${words[id % 8]}/${words[(id >> 3) % 8]}/article-${((id * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}-sw${id}`
    return `<url><loc>${publicUrl}/${path}</loc><lastmod>2026-11-21</lastmod><changefreq>daily</changefreq><priority>${id % 10 === 0 ? 0.8 : 0.5}</priority></url>`
  })
  return gzipSync(
    `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('')}</urlset>`,
    { level: 1 },
  )
}

async function measure(): Promise<void> {
  const directory = await scratch('sitemap')
  const server = await startChild(
    [process.execPath, fileURLToPath(import.meta.url), '--serve', '--urls', String(urls), '--files', String(files)],
    { ready: (logs) => logs.includes('\n'), within: 120_000 },
  )
  const channel = toChannel({
    id: 'channel',
    name: 'Shop',
    url: publicUrl,
    origin: `http://127.0.0.1:${server.logs().trim()}`,
  })
  const records = await openRecords({ directory: directory.path, now: Date.now })
  try {
    await withSteadyHeap(() => start(records, channel, urls / 100))
    report(await withSteadyHeap(() => start(records, channel, urls)))
  } finally {
    await records.close()
    await server.stop()
    await directory.discard()
  }
}

interface Measured {
  urls: number
  seconds: { finding: number; writing: number }
  /** Milliseconds. */
  gaps: { finding: number; writing: number }
  /** Megabytes. */
  growth: number
}

async function start(records: Records, channel: Channel, total: number): Promise<Measured> {
  const fetch = openSitemapFetch({ timeout: 30_000, redirects: 5 })
  const before = process.memoryUsage.rss()
  let peak = before
  const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 20)
  try {
    const finding = await timed(() =>
      planRun({
        channels: new Channels([channel]),
        chosen: [{ channel, sitemaps: [`${publicUrl}/${total}/index.xml`] }],
        canonicalise: canonicaliser([]),
        isBypassed: () => false,
        fetch,
        limits: defaultLimits,
        signal: new AbortController().signal,
        urls: null,
        types: null,
        typeOf: () => null,
        hasTag: null,
        hitsOf: null,
        onProgress: () => {},
      }),
    )
    const plan = finding.value
    if (plan.discovery.total !== total)
      throw new Error(`found ${plan.discovery.total} of ${total}: ${JSON.stringify(plan.discovery.errors)}`)
    const writing = await timed(() => createRun(records, { salesChannelId: null, batchSize, force: false, ...plan }))
    return {
      urls: total,
      seconds: { finding: finding.seconds, writing: writing.seconds },
      gaps: { finding: finding.gap, writing: writing.gap },
      growth: (peak - before) / 2 ** 20,
    }
  } finally {
    clearInterval(sampling)
    await fetch.close()
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number; gap: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const began = performance.now()
  const value = await work()
  const seconds = (performance.now() - began) / 1000
  // Lets the timer fire once more, so that a gap at the very end is measured.
  await new Promise((resolve) => setTimeout(resolve, 5))
  delay.disable()
  return { value, seconds, gap: delay.max / 1e6 }
}

function report(measured: Measured): void {
  if (values.json) return console.log(JSON.stringify(measured))
  const { seconds, gaps, growth } = measured
  console.log(`| ${measured.urls.toLocaleString('en')} URLs in ${files} files | discovery | writing |\n|---|---|---|`)
  console.log(`| seconds | ${seconds.finding.toFixed(1)} | ${seconds.writing.toFixed(1)} |`)
  console.log(`| longest block of the event loop, ms | ${gaps.finding.toFixed(0)} | ${gaps.writing.toFixed(0)} |`)
  console.log(`\nGrowth of the resident memory: ${growth.toFixed(0)} MB`)
}
