/**
 * Claim: visitors notice nothing while operators read statistics and clear types, and a warmup runs.
 *
 *   npx node bench/hit-under-load.ts [--rounds 3] [--seconds 10] [--per-second 300] [--json]
 *
 * Visits cached pages at a fixed rate, alternately on an idle daemon and while `cache:stats`, `vendor:cache:clear --type buybox` and
 * `warmup:start --wait` run continuously. Prints medians over the rounds; the ratio is that of the 99th percentiles. The daemon runs on
 * core 0; visitors, shop and commands share core 1, with priority for the visitors.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { runProgram, startDaemon } from '../test/helpers/daemon.ts'
import { startOrigin, type Origin } from '../test/helpers/origin.ts'
import { browserHeaders } from './lib/browser.ts'
import { leaveServerCore, onServerCore } from './lib/cores.ts'
import type { Latencies, Visits } from './lib/latency-client.ts'
import { pageHeaders, samplePage } from './lib/page.ts'
import { median } from './lib/statistics.ts'

const pages = Array.from({ length: 200 }, (_, i) => `/category/${i}`)
const buyboxes = Array.from({ length: 500 }, (_, i) => `/buybox/${i}`)

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    'per-second': { type: 'string', default: '300' },
    json: { type: 'boolean', default: false },
  },
})

interface Work {
  stats: number
  clears: number
  warmups: number
}

leaveServerCore()
const origin = await startShop()
const daemon = await startDaemon({ prefix: onServerCore, config: (url) => configuration(url, origin) })
try {
  await command('warmup:start', '--wait')
  const visits: Visits = {
    port: daemon.port,
    paths: pages,
    headers: browserHeaders({ gzip: true, cookie: true }),
    perSecond: Number(values['per-second']),
    seconds: Number(values.seconds),
    connections: 8,
  }
  await measure({ ...visits, seconds: 2 })
  const quiet: Latencies[] = []
  const busy: Latencies[] = []
  const work: Work = { stats: 0, clears: 0, warmups: 0 }
  for (let round = 1; round <= Number(values.rounds); round++) {
    quiet.push(await measure(visits))
    busy.push(await besideWork(work, () => measure(visits)))
    console.error(`round ${round}: idle ${JSON.stringify(quiet.at(-1))}, busy ${JSON.stringify(busy.at(-1))}`)
  }
  report(quiet, busy, work)
} finally {
  await daemon.stop()
  await origin.stop()
}

/** A shop that takes 5 ms per page, with a sitemap of all pages. */
async function startShop(): Promise<Origin> {
  const page = samplePage()
  const origin = await startOrigin()
  const gzip = { headers: { ...pageHeaders, 'content-encoding': 'gzip' }, body: page.gzip }
  origin.otherwise(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return gzip
  })
  origin.on('/robots.txt', { status: 404 })
  return origin
}

function configuration(url: string, origin: Origin): Record<string, unknown> {
  const entries = [...pages, ...buyboxes].map((path) => `<url><loc>${url}${path}</loc></url>`).join('')
  const sitemap = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</urlset>`
  origin.on('/sitemap.xml', { headers: { 'content-type': 'application/xml' }, body: sitemap })
  const id = '0190c0de-0000-7000-8000-000000000001'
  return {
    salesChannels: [{ id, name: 'Bench', url, origin: origin.url, sitemaps: ['/sitemap.xml'] }],
    cache: { types: [{ type: 'buybox', path: '/buybox/*' }] },
  }
}

/** Visits from a separate process, so that neither the shop nor the commands delay its timers. */
async function measure(visits: Visits): Promise<Latencies> {
  const client = fileURLToPath(new URL('lib/latency-client.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [client, JSON.stringify(visits)])
  return JSON.parse(stdout) as Latencies
}

/** Runs `during` while commands and warmups run, and counts how many of those completed. */
async function besideWork(work: Work, during: () => Promise<Latencies>): Promise<Latencies> {
  let over = false
  const looking = (async () => {
    for (; !over; work.stats++) await command('cache:stats', '--json')
  })()
  const clearing = (async () => {
    while (!over) {
      await command('vendor:cache:clear', '--type', 'buybox')
      work.clears++
      await command('warmup:start', '--wait')
      work.warmups++
    }
  })()
  // A failed command ends the measurement at once.
  const failed = Promise.all([looking, clearing])
  const failure = new Promise<never>((_, reject) => failed.catch(reject))
  try {
    return await Promise.race([during(), failure])
  } finally {
    over = true
    await failed
  }
}

async function command(...args: string[]): Promise<void> {
  const { code, stderr } = await runProgram(args, { projectDir: daemon.projectDir, prefix: ['chrt', '--idle', '0'] })
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}:\n${stderr}\n${daemon.logs()}`)
}

function report(quiet: readonly Latencies[], busy: readonly Latencies[], work: Work): void {
  const middle = (rounds: readonly Latencies[]) => ({
    p50: median(rounds.map((round) => round.p50)),
    p99: median(rounds.map((round) => round.p99)),
    max: median(rounds.map((round) => round.max)),
  })
  const result = { quiet: middle(quiet), busy: middle(busy), multiple: middle(busy).p99 / middle(quiet).p99, work }
  if (values.json) return console.log(JSON.stringify(result))
  console.log('| milliseconds | median | 99th percentile | slowest |\n|---|---|---|---|')
  for (const name of ['quiet', 'busy'] as const) {
    const { p50, p99, max } = result[name]
    console.log(
      `| ${name === 'quiet' ? 'idle' : name} | ${[p50, p99, max].map((value) => value.toFixed(2)).join(' | ')} |`,
    )
  }
  console.log(`\n99th percentile, busy ÷ idle: ${result.multiple.toFixed(2)}`)
  console.log(
    `During the busy visits: ${work.stats} × cache:stats, ${work.clears} × vendor:cache:clear --type buybox, ${work.warmups} × warmup:start`,
  )
}
