/**
 * Claim: every shape of request that shops send is served from one core about as fast as Varnish or nginx serve it, and none of them
 * delays the hits beside it.
 *
 *   npx node bench/front.ts [--rounds 5] [--seconds 2] [--connections 32] [--only hit,304] [--rivals nginx,varnish,varnish-plain,node] [--json]
 *
 * Loads one server at a time on core 0, in an order that changes from round to round, from core 1, where the shop runs too: an nginx with
 * prepared answers, so that it is not the bottleneck. `--only` selects the rows whose name contains one of the texts. Before and after each
 * measurement a sampled response must have the right status, body and origin, and during it the shop must get as many requests as the shape
 * calls for.
 * `varnish-plain` neither indexes tags nor compresses, unlike `varnish`, and is measured with stored misses only.
 * Prints the median of the rounds, the median and the range of the rounds' ratios, and the rows that fall short of their target.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fragmentShapes } from './front/fragments.ts'
import { hitShapes } from './front/hits.ts'
import { latencyShapes } from './front/latencies.ts'
import { missShapes } from './front/misses.ts'
import type { Arrangement, Measured, Shape } from './front/shape.ts'
import { tlsShapes } from './front/tls.ts'
import { contenderNames, ours, startContenders, type Contender, type ContenderName } from './lib/contenders.ts'
import { leaveServerCore, processorTime, watchServerCore } from './lib/cores.ts'
import { category, startFastShop } from './lib/fast-shop.ts'
import { median } from './lib/statistics.ts'

interface Row {
  name: string
  unit: Shape['unit']
  goal: Shape['goal']
  /** Median of the rounds by contender. */
  medians: Partial<Record<ContenderName, number>>
  /** What the goal is about: by round, pagecache's value, or that value divided by the rival's. */
  judged: number[]
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: '' },
    rivals: { type: 'string', default: contenderNames.join(',') },
    json: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const names = contenderNames.filter((name) => name === 'ours' || values.rivals.split(',').includes(name))

leaveServerCore()
const shop = await startFastShop()
const { contenders, missing } = await startContenders(shop, names)
try {
  for (const name of missing) console.error(`${name} is not installed: no comparison with it`)
  let serial = 0
  const arrangement: Arrangement = {
    shop,
    connections: Number(values.connections),
    rounds,
    seconds: Number(values.seconds),
    unseen: (prefix = category) => `${prefix}new-${(serial += 1)}-`,
  }
  const shapes = [
    ...hitShapes(arrangement),
    ...fragmentShapes(arrangement),
    ...missShapes(arrangement),
    ...latencyShapes(arrangement),
    ...tlsShapes(arrangement),
  ]
  const rows: Row[] = []
  for (const shape of shapes.filter(({ name }) => values.only.split(',').some((part) => name.includes(part))))
    rows.push(await rowOf(shape))
  if (values.json) console.log(JSON.stringify({ rounds, seconds: arrangement.seconds, rows }))
  else print(rows)
} finally {
  await Promise.all(contenders.map((contender) => contender.stop()))
  await shop.stop()
}

async function rowOf(shape: Shape): Promise<Row> {
  const own = shape.config === undefined ? null : await ours(shop, shape.config)
  const measured = contenders
    .filter(({ name }) => name === 'ours' || shape.rivals.includes(name))
    .map((contender) => (contender.name === 'ours' && own !== null ? own : contender))
  try {
    for (const contender of measured) await shape.prepare?.(contender)
    return await measure(shape, measured)
  } finally {
    await shape.stop?.()
    await own?.stop()
  }
}

async function measure(shape: Shape, measured: readonly Contender[]): Promise<Row> {
  const results: Partial<Record<ContenderName, number[]>> = {}
  for (let round = 1; round <= rounds; round++) {
    for (const contender of inOrder(measured, round)) {
      const settled = await settle(measured)
      const busy = watchServerCore()
      const { value, note }: Measured = await shape.measure(contender)
      ;(results[contender.name] ??= []).push(value)
      // Not a number where all rounds were measured before the first.
      const share = busy()
      const notes = [
        note,
        share > 0 && `core ${Math.round(share * 100)} % busy`,
        settled > 1000 && `${settled.toFixed(0)} ms until it was idle`,
      ].filter(Boolean)
      console.error(
        `${shape.name}, round ${round}: ${contender.name} ${shown(value)} ${shape.unit} (${notes.join(', ')})`,
      )
    }
  }
  const { name, unit, goal } = shape
  const medians = Object.fromEntries(Object.entries(results).map(([each, list]) => [each, median(list)]))
  // Ratios are taken per round, so that other load on the machine affects both sides.
  const rival = goal.rival === undefined ? null : results[goal.rival]
  const judged = rival === undefined ? [] : (results.ours ?? []).map((value, round) => value / (rival?.[round] ?? 1))
  return { name, unit, goal, medians, judged }
}

/** Another order for each round, so that none always follows the same one: what nginx has written keeps the disk busy for a while. */
function inOrder(measured: readonly Contender[], round: number): Contender[] {
  const first = round % measured.length
  const order = [...measured.slice(first), ...measured.slice(0, first)]
  return Math.floor(round / measured.length) % 2 === 1 ? order.reverse() : order
}

/** Waits until no server has work left from earlier measurements. Returns the milliseconds that took. */
async function settle(servers: readonly Contender[]): Promise<number> {
  const started = performance.now()
  const spent = () => servers.reduce((sum, { pid }) => sum + (pid === null ? 0 : processorTime(pid)), 0)
  for (let before = spent(), idle = false; !idle && performance.now() - started < 60_000;) {
    await pause(200)
    const now = spent()
    idle = now - before < 0.03
    before = now
  }
  return performance.now() - started
}

function print(rows: readonly Row[]): void {
  const columns = contenderNames.filter((name) => rows.some(({ medians }) => medians[name] !== undefined))
  const heads = ['', ...columns.map((name) => (name === 'ours' ? 'pagecache' : name)), 'ratio', 'range', 'target', '']
  console.log(`| ${heads.join(' | ')} |\n|${'---|'.repeat(heads.length)}`)
  for (const row of rows) {
    const cells = columns.map((name) => (row.medians[name] === undefined ? '' : shown(row.medians[name])))
    const { rival, atLeast, atMost } = row.goal
    const target = `${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`}${rival === undefined ? '' : ` of ${rival}`}`
    const range = `${shown(Math.min(...row.judged))}–${shown(Math.max(...row.judged))}`
    const judged = row.judged.length === 0 ? ['', ''] : [shown(median(row.judged)), range]
    console.log(`| ${[`${row.name}, ${row.unit}`, ...cells, ...judged, target, verdict(row)].join(' | ')} |`)
  }
  const short = rows.filter((row) => verdict(row) === 'MISSED')
  console.log(`\n${short.length} of ${rows.length} rows fall short${short.length > 0 ? ':' : ''}`)
  for (const row of short) console.log(`- ${row.name}: ${shown(median(row.judged))}`)
}

function verdict({ goal, judged }: Row): string {
  if (judged.length === 0) return 'no rival'
  const value = median(judged)
  return value >= (goal.atLeast ?? 0) && value <= (goal.atMost ?? Infinity) ? 'met' : 'MISSED'
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
