/**
 * Claim: visitors notice nothing while operators read statistics and clear types, and a warmup runs.
 *
 *   npx node bench/hit-under-load.ts [--rounds 3] [--seconds 10] [--per-second 300] [--json]
 *
 * Visits cached pages at a fixed rate: in turn on an idle daemon, while commands run that do not ask it, and while `cache:stats`,
 * `vendor:cache:clear --type buybox` and `warmup:start --wait` run continuously. That work runs for a while before the first round.
 * Prints medians over the rounds; the ratios are those of the 99th percentiles. The daemon runs on core 0; visitors, shop and commands
 * share core 1, with priority for the visitors. The second turn shows what commands alone do to them there.
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

/** In seconds, until V8 has compiled what that work needs: it comes in bursts. A daemon runs for months. */
const warmFor = 90
const turns = { idle: 'idle', commands: 'beside commands that do not ask the daemon', busy: 'busy' } as const
type Turn = keyof typeof turns
export type Round = Record<Turn, Latencies>

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
  await besideWork({ stats: 0, clears: 0, warmups: 0 }, () => measure({ ...visits, seconds: warmFor }))
  const rounds: Round[] = []
  const work: Work = { stats: 0, clears: 0, warmups: 0 }
  for (let round = 1; round <= Number(values.rounds); round++) {
    const idle = await measure(visits)
    const commands = await besideCommands(() => measure(visits))
    const busy = await besideWork(work, () => measure(visits))
    rounds.push({ idle, commands, busy })
    console.error(`round ${round}: ${JSON.stringify(rounds.at(-1))}`)
  }
  report(rounds, work)
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
  const looking = async () => {
    await command('cache:stats', '--json')
    work.stats++
  }
  const clearing = async () => {
    await command('vendor:cache:clear', '--type', 'buybox')
    work.clears++
    await command('warmup:start', '--wait')
    work.warmups++
  }
  return await beside([looking, clearing], during)
}

/** Runs `during` while commands run that ask nothing of the daemon. */
async function besideCommands(during: () => Promise<Latencies>): Promise<Latencies> {
  return await beside([() => command('cache:stats', '--help')], during)
}

/** Runs `during` while each piece of work is repeated. A failed one ends the measurement at once. */
async function beside(work: readonly (() => Promise<void>)[], during: () => Promise<Latencies>): Promise<Latencies> {
  let over = false
  const all = Promise.all(
    work.map(async (once) => {
      while (!over) await once()
    }),
  )
  const failure = new Promise<never>((_, reject) => all.catch(reject))
  try {
    return await Promise.race([during(), failure])
  } finally {
    over = true
    await all
  }
}

async function command(...args: string[]): Promise<void> {
  const { code, stderr } = await runProgram(args, { projectDir: daemon.projectDir, prefix: ['chrt', '--idle', '0'] })
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}:\n${stderr}\n${daemon.logs()}`)
}

function report(rounds: readonly Round[], work: Work): void {
  if (values.json) return console.log(JSON.stringify({ rounds, work }))
  const middle = (turn: Turn, figure: keyof Latencies) => median(rounds.map((round) => round[turn][figure]))
  console.log('| milliseconds | median | 99th percentile | slowest |\n|---|---|---|---|')
  for (const [turn, name] of Object.entries(turns)) {
    const cells = (['p50', 'p99', 'max'] as const).map((figure) => middle(turn as Turn, figure).toFixed(2))
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  const busyOver = (turn: Turn) => (middle('busy', 'p99') / middle(turn, 'p99')).toFixed(2)
  console.log(`\n99th percentile, busy ÷ idle: ${busyOver('idle')}; busy ÷ beside commands: ${busyOver('commands')}`)
  console.log(
    `During the busy visits: ${work.stats} × cache:stats, ${work.clears} × vendor:cache:clear --type buybox, ${work.warmups} × warmup:start`,
  )
}
