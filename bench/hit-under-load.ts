/**
 * Claim: visitors notice nothing while operators read statistics and clear types, and a warmup runs.
 *
 *   npx node bench/hit-under-load.ts [--rounds 3] [--seconds 10] [--per-second 300] [--json]
 *
 * Visits cached pages at a fixed rate: in turn on an idle daemon, while commands run that do not ask it, and while `cache:stats`,
 * `vendor:cache:clear --type buybox` and `warmup:start --wait` run continuously. That work runs for a while before the first round.
 * Prints medians and ranges over the rounds; the ratios are those of the 99th percentiles. The daemon runs on core 0; visitors, shop and commands
 * share core 1, the latter two only while the visitors leave it idle. The second turn shows what commands alone do to them there.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startChild, type Child } from '../test/helpers/child.ts'
import { freePort, runProgram, startDaemon } from '../test/helpers/daemon.ts'
import { browserHeaders } from './lib/browser.ts'
import { beforeOthers, leaveServerCore, onServerCore, whenIdle } from './lib/cores.ts'
import type { Latencies, Visits } from './lib/latency-client.ts'
import { runFile } from './lib/run-file.ts'
import { median, withRange } from './lib/statistics.ts'

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
const port = await freePort()
const url = `http://127.0.0.1:${port}`
const { shop, origin } = await startShop(url)
const id = '0190c0de-0000-7000-8000-000000000001'
const config = {
  salesChannels: [{ id, name: 'Bench', url, origin, sitemaps: ['/sitemap.xml'] }],
  cache: { types: [{ type: 'buybox', path: '/buybox/*' }] },
}
const daemon = await startDaemon({ prefix: onServerCore, port, config })
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
  await shop.stop()
}

/** The shop of a daemon, and its address. */
async function startShop(url: string): Promise<{ shop: Child; origin: string }> {
  const program = fileURLToPath(new URL('lib/slow-shop.ts', import.meta.url))
  const given = [process.execPath, program, url, JSON.stringify([...pages, ...buyboxes])]
  const shop = await startChild([...whenIdle, ...given], { ready: (logs) => logs.includes('\n') })
  return { shop, origin: shop.logs().trim() }
}

async function measure(visits: Visits): Promise<Latencies> {
  return await runFile('lib/latency-client.ts', [JSON.stringify(visits)], { command: beforeOthers() })
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
  const { code, stderr } = await runProgram(args, { projectDir: daemon.projectDir, prefix: whenIdle })
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}:\n${stderr}\n${daemon.logs()}`)
}

function report(rounds: readonly Round[], work: Work): void {
  if (values.json) return console.log(JSON.stringify({ rounds, work }))
  const all = (turn: Turn, figure: keyof Latencies) => rounds.map((round) => round[turn][figure])
  console.log('| milliseconds | median | 99th percentile | slowest |\n|---|---|---|---|')
  for (const [turn, name] of Object.entries(turns)) {
    const cells = (['p50', 'p99', 'max'] as const).map((figure) => withRange(all(turn as Turn, figure), 2))
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  const busyOver = (turn: Turn) => (median(all('busy', 'p99')) / median(all(turn, 'p99'))).toFixed(2)
  console.log(`\n99th percentile, busy ÷ idle: ${busyOver('idle')}; busy ÷ beside commands: ${busyOver('commands')}`)
  console.log(
    `During the busy visits: ${work.stats} × cache:stats, ${work.clears} × vendor:cache:clear --type buybox, ${work.warmups} × warmup:start`,
  )
}
