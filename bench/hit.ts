/**
 * Claim: one core serves a cached page about as often as Varnish, nginx or a bare node:http server.
 *
 *   npx node bench/hit.ts [--rounds 5] [--seconds 2] [--connections 32] [--only ours,nginx] [--json]
 *
 * Loads one server at a time on core 0 from core 1, alternately. Prints a table of medians, or JSON.
 */
import { parseArgs } from 'node:util'
import { leaveServerCore, watchServerCore } from './lib/cores.ts'
import { browserHeaders } from './lib/browser.ts'
import { contenderNames, startContenders, type Coding, type Contender } from './lib/contenders.ts'
import { startSampleShop } from './lib/shop.ts'
import { median } from './lib/statistics.ts'
import { verifyHit } from './lib/verify.ts'
import { load } from './lib/wrk.ts'
import type { Origin } from '../test/helpers/origin.ts'

interface Mode {
  coding: Coding
  cookie: boolean
}

interface Row extends Mode {
  /** Median requests per second by contender. */
  rate: Record<string, number>
  /** pagecache's rate divided by each rival's: the median of the rounds' ratios. */
  ratio: Record<string, number>
}

/** The required ratio to each rival. */
const goals: Record<Coding, Record<string, number>> = {
  gzip: { varnish: 1, node: 0.85 },
  identity: { varnish: 3, node: 0.85 },
}
const modes: Mode[] = (['gzip', 'identity'] as const).flatMap((coding) =>
  [false, true].map((cookie) => ({ coding, cookie })),
)

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: contenderNames.join(',') },
    json: { type: 'boolean', default: false },
  },
})
const only = values.only.split(',')
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const connections = Number(values.connections)

leaveServerCore()
const origin = await startSampleShop()
const { contenders, missing } = await startContenders(
  origin,
  contenderNames.filter((name) => only.includes(name)),
)
try {
  for (const name of missing) console.error(`${name} is not installed: no comparison with it`)
  const rows: Row[] = []
  for (const mode of modes) rows.push(await measure(mode, contenders, origin))
  if (values.json) console.log(JSON.stringify({ rounds, seconds, connections, rows }))
  else print(rows)
} finally {
  await Promise.all(contenders.map((contender) => contender.stop()))
  await origin.stop()
}

async function measure(mode: Mode, contenders: readonly Contender[], origin: Origin): Promise<Row> {
  const headers = browserHeaders({ gzip: mode.coding === 'gzip', cookie: mode.cookie })
  const rates: Record<string, number[]> = {}
  for (const contender of contenders) {
    await verifyHit(contender, mode.coding, headers, origin)
    // Not counted: warms up JIT compilers and caches.
    await load({ url: contender.url(mode.coding), headers, connections, seconds: 1 })
  }
  const asked = origin.hits()
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const busy = watchServerCore()
      const result = await load({ url: contender.url(mode.coding), headers, connections, seconds })
      ;(rates[contender.name] ??= []).push(result.requestsPerSecond)
      const rate = Math.round(result.requestsPerSecond)
      // If the server's core idles, the load generator was the bottleneck.
      const share = `core ${Math.round(busy() * 100)} % busy`
      console.error(
        `${title(mode)}, round ${round}: ${contender.name} ${rate}/s, ${Math.round(result.bytesPerRequest)} bytes each, ${share}`,
      )
    }
  }
  if (origin.hits() !== asked)
    throw new Error(`${title(mode)}: the origin got ${origin.hits() - asked} requests while hits were measured`)
  const rate = Object.fromEntries(Object.entries(rates).map(([name, values]) => [name, median(values)]))
  const { ours, ...rivals } = rates
  // Ratios are taken per round, so that other load on the machine affects both sides.
  const ratio = Object.entries(ours === undefined ? {} : rivals).map(([name, theirs]) => [
    name,
    median(theirs.map((value, round) => (ours?.[round] ?? 0) / value)),
  ])
  return { ...mode, rate, ratio: Object.fromEntries(ratio) }
}

function title({ coding, cookie }: Mode): string {
  return `${coding === 'gzip' ? 'compressed' : 'identity'}${cookie ? ', with cookies' : ''}`
}

function print(rows: readonly Row[]): void {
  const names = Object.keys(rows[0]?.rate ?? {})
  const rivals = Object.keys(rows[0]?.ratio ?? {})
  const columns = ['requests per second, one core', ...names, ...rivals.map((name) => `ours ÷ ${name}`)]
  console.log(`| ${columns.join(' | ')} |`)
  console.log(`|${'---|'.repeat(columns.length)}`)
  for (const row of rows) {
    const rates = names.map((name) => Math.round(row.rate[name] ?? 0))
    console.log(`| ${[title(row), ...rates, ...rivals.map((name) => row.ratio[name]?.toFixed(2))].join(' | ')} |`)
  }
  console.log('')
  for (const row of rows) {
    for (const [name, goal] of Object.entries(goals[row.coding])) {
      const ratio = row.ratio[name]
      if (ratio !== undefined)
        console.log(`${title(row)}: ${ratio.toFixed(2)} × ${name}, target ${goal}: ${ratio >= goal ? 'met' : 'MISSED'}`)
    }
  }
}
