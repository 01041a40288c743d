/**
 * Claim: a crawler that requests hundreds of thousands of pages once costs little memory, and visitors hardly a hit.
 *
 *   npx node bench/crawl.ts [--urls 500000] [--visits 600000] [--json]
 *
 * First it replays a trace: visitors who prefer some of 100,000 pages (Zipf), and a crawler that requests half as many new pages as there
 * are visits. It prints the visitors' hit ratio with the memory tier's policy, LRU and W-TinyLFU, and the cost of a hit. Then it lets wrk request new pages from
 * a daemon on core 0 (the shop is an nginx on core 1) and prints how far its resident memory rises above that of the start.
 * `--urls 0` omits that part; it needs nothing but this process otherwise.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { exchange } from '../test/helpers/exchange.ts'
import { ours } from './lib/contenders.ts'
import { leaveServerCore } from './lib/cores.ts'
import { browserHeaders } from './lib/browser.ts'
import { category, startFastShop } from './lib/fast-shop.ts'
import { nanosecondsPerHit } from './lib/per-hit.ts'
import { policies } from './lib/policies.ts'
import { hitRatio } from './lib/trace.ts'
import { load } from './lib/wrk.ts'

const MiB = 2 ** 20
const mostGrowth = 150
const secondsAtOnce = 5

interface Ratios {
  skew: number
  memory: string
  crawler: boolean
  /** Hit ratios while the crawler runs, by policy. */
  ratios: Record<string, number>
}

const { values } = parseArgs({
  options: {
    urls: { type: 'string', default: '500000' },
    visits: { type: 'string', default: '600000' },
    json: { type: 'boolean', default: false },
  },
})
const urls = Number(values.urls)
const visits = Number(values.visits)

const perHit = nanosecondsPerHit()
const ratios = replay()
const memory = urls === 0 ? null : await crawl()
if (values.json) console.log(JSON.stringify({ perHit, ratios, memory }))
else print()

function replay(): Ratios[] {
  const rows: Ratios[] = []
  for (const skew of [0.7, 0.9, 1.1]) {
    for (const megabytes of [32, 128]) {
      for (const crawler of [false, true]) {
        const trace = { pages: 100_000, skew, visits, crawled: crawler ? visits / 2 : 0 }
        const entries = Object.entries(policies).map(([name, make]) => [
          name,
          hitRatio(make(megabytes * MiB), trace).crawl,
        ])
        rows.push({ skew, memory: `${megabytes} MB`, crawler, ratios: Object.fromEntries(entries) })
      }
    }
  }
  return rows
}

/** Resident memory in MiB. */
function residentMemory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
}

async function crawl() {
  leaveServerCore()
  const shop = await startFastShop()
  const daemon = await ours(shop)
  const pid = daemon.pid ?? 0
  const headers = browserHeaders({ gzip: true, cookie: false })
  const start = residentMemory(pid)
  let peak = start
  const sampling = setInterval(() => (peak = Math.max(peak, residentMemory(pid))), 250)
  const started = performance.now()
  try {
    let done = 0
    for (let leg = 0; done < urls; leg++) {
      const url = daemon.url(`${category}crawl-${leg}-`, 'gzip')
      const { requests } = await load({ url, headers, connections: 32, seconds: secondsAtOnce, fresh: '' })
      const answer = await exchange(url + requests, { headers })
      if (answer.status !== 200) throw new Error(`status ${answer.status} after ${done + requests} pages`)
      done += requests
      console.error(`${done} pages: ${residentMemory(pid).toFixed(0)} MB`)
    }
    const seconds = (performance.now() - started) / 1000
    return { urls: done, seconds, start, peak, end: residentMemory(pid), growth: peak - start }
  } finally {
    clearInterval(sampling)
    await daemon.stop()
    await shop.stop()
  }
}

function print(): void {
  const names = Object.keys(policies)
  console.log(`| Zipf skew | memory | crawler | ${names.join(' | ')} |\n|${'---|'.repeat(names.length + 3)}`)
  for (const row of ratios) {
    const cells = names.map((name) => `${(100 * row.ratios[name]!).toFixed(1)} %`)
    console.log(`| ${[row.skew, row.memory, row.crawler ? 'yes' : 'no', ...cells].join(' | ')} |`)
  }
  console.log(`\nlook-up in memory: ${perHit.pagecache.toFixed(0)} ns, with LRU ${perHit.lru.toFixed(0)} ns`)
  if (memory === null) return
  const { start, peak, end, growth } = memory
  console.log(`\n${memory.urls.toLocaleString('en')} new pages in ${memory.seconds.toFixed(0)} s`)
  console.log(
    `resident memory: ${start.toFixed(0)} MB at the start, at most ${peak.toFixed(0)} MB, ${end.toFixed(0)} MB at the end`,
  )
  console.log(`growth: ${growth.toFixed(0)} MB, target ${mostGrowth}: ${growth <= mostGrowth ? 'met' : 'MISSED'}`)
}
