/**
 * Claim: a warmup fetches pages nearly as fast as the shop can deliver them.
 *
 *   npx node bench/warm.ts [--rounds 3] [--concurrency 8] [--fast] [--json]
 *
 * Alternately warms the demo shop (with realistic response times; `--fast`: without) into an empty cache with `warmup:start --wait`, and
 * fetches its pages with `wrk` at the same concurrency. Pages per second are those of the warming alone, from the run's record, without
 * the start of the program and the reading of the sitemaps. Prints medians over the rounds.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startChild } from '../test/helpers/child.ts'
import { runProgram } from '../test/helpers/daemon.ts'
import { scratch } from '../test/helpers/scratch.ts'
import { median } from './lib/statistics.ts'
import { load } from './lib/wrk.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '8' },
    fast: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const concurrency = Number(values.concurrency)
/** The public URL. Nothing listens there. */
const publicUrl = 'http://shop.test'

interface Shop {
  url: string
  channels: { id: string; name: string; url: string }[]
}

const project = await scratch('warm')
const program = fileURLToPath(new URL('../dist/demo/shop-main.js', import.meta.url))
const process_ = await startChild(
  [process.execPath, program, '--url', publicUrl, ...(values.fast ? ['--no-latency'] : [])],
  { ready: (logs) => logs.includes('\n') },
)
try {
  const shop = JSON.parse(process_.logs().split('\n')[0] ?? '') as Shop
  writeFileSync(join(project.path, 'pagecache.yaml'), configuration(shop))
  const paths = await plannedPaths()
  const rounds: { warm: number; wrk: number }[] = []
  for (let round = 1; round <= Number(values.rounds); round++) {
    rounds.push({ warm: await warm(), wrk: await bare(shop, paths) })
    console.error(`round ${round}: ${JSON.stringify(rounds.at(-1))}`)
  }
  report(rounds, paths.length)
} finally {
  await process_.stop()
  await project.discard()
}

function configuration({ url, channels }: Shop): string {
  const salesChannels = channels.map((channel) => ({
    ...channel,
    pages: undefined,
    origin: url,
    sitemaps: ['/sitemap.xml'],
  }))
  return JSON.stringify({ salesChannels, warmup: { concurrency } })
}

async function plannedPaths(): Promise<string[]> {
  const { urls } = (await command('--dry-run')) as { urls: string[] }
  return urls.map((url) => url.slice(publicUrl.length))
}

/** Pages per second of a warmup into an empty cache. */
async function warm(): Promise<number> {
  rmSync(join(project.path, 'var'), { recursive: true, force: true })
  const { progress } = (await command('--wait')) as {
    progress: { processed_urls: number; created_at: string; finished_at: string }
  }
  return (progress.processed_urls * 1000) / (Date.parse(progress.finished_at) - Date.parse(progress.created_at))
}

async function bare({ url }: Shop, paths: string[]): Promise<number> {
  const { requestsPerSecond } = await load({
    url,
    headers: { Host: new URL(publicUrl).host },
    connections: concurrency,
    seconds: 10,
    paths,
  })
  return requestsPerSecond
}

async function command(flag: string): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram(['warmup:start', flag, '--json'], { projectDir: project.path })
  if (code !== 0) throw new Error(`warmup:start ${flag} exited with ${code}:\n${stderr}`)
  return JSON.parse(stdout)
}

function report(rounds: readonly { warm: number; wrk: number }[], pages: number): void {
  const result = {
    pages,
    concurrency,
    warm: median(rounds.map((round) => round.warm)),
    wrk: median(rounds.map((round) => round.wrk)),
    ratio: median(rounds.map((round) => round.warm / round.wrk)),
  }
  if (values.json) return console.log(JSON.stringify(result))
  console.log(`| ${pages} pages, ${concurrency} concurrent | pages per second |\n|---|---|`)
  console.log(`| warmup:start --wait | ${result.warm.toFixed(1)} |\n| wrk | ${result.wrk.toFixed(1)} |`)
  console.log(`\nwarmup ÷ wrk: ${result.ratio.toFixed(2)}`)
}
