/**
 * Claims for several machines: hits cost what they cost without a cluster; a purge is answered within milliseconds although it waits for
 * all nodes; a dead node delays one purge; a page that any node has fetched is never fetched from the shop again.
 *
 *   npx node bench/cluster.ts [--only hits,purge,death,together,events,shared,cold,order,appliers] [--rounds 3] [--seconds 3]
 *     [--nodes 3,10,30,100] [--json]
 *
 * Three daemons with PostgreSQL (synchronous commits) and Redis, and one daemon on SQLite, all on this machine. Every answer's status is
 * checked.
 *
 * - `hits`: a hit from memory per second on one node, against the daemon on SQLite. Both run on core 0 and take turns; the load and
 *   everything else run on core 1.
 * - `purge`: purges of a tag whose page all three nodes have, one after another, until the answer; against the daemon on SQLite.
 * - `death`: the first purge after a node was killed, and the following ones.
 * - `together`: purges per second, sent to all three nodes at once on 16 connections each; against the daemon on SQLite with 48.
 * - `events`: durable events per second on one node, 64 connections; against the daemon on SQLite.
 * - `shared`: a page that another node has fetched; against the daemon on SQLite, which fetches it from a shop that answers at once.
 * - `cold`: 600 cold pages, each requested by 30 visitors at once on each node. Counts the requests to the shop.
 * - `order`: purges per second that one counter row orders, by writers and by purges in a transaction; against bare commits of that row.
 * - `appliers`: `--nodes` nodes without visitors, in three processes. Load on PostgreSQL while nothing happens, and with purges.
 *
 * `bench/queue.ts --postgres` measures the queue. Build first.
 */
import { parseArgs } from 'node:util'
import { until } from '../test/helpers/until.ts'
import { browserHeaders } from './lib/browser.ts'
import { ask, hangUp, host, pin, startCluster, type BenchNode, type ClusterPlace } from './lib/cluster-place.ts'
import { measureAppliers, printAppliers } from './lib/cluster-crowd.ts'
import { measureOrder, printOrder } from './lib/purge-order.ts'
import type { Storm, StormResult } from './lib/purge-client.ts'
import { runFile } from './lib/run-file.ts'
import { median, percentile, withRange } from './lib/statistics.ts'
import { eventsOfVisitors } from './lib/visitors.ts'
import { load } from './lib/wrk.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    nodes: { type: 'string', default: '3,10,30,100' },
    json: { type: 'boolean', default: false },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
/** Tags from this number on have no pages; a storm can use any number of them. */
const endless = 10_000_000
/** Tags that are purged, and shared pages that are requested, in a round. */
const perRound = 100
const [coldPages, visitors] = [600, 30]
/** Pages that are missed at the same time: 900 visitors share two cores with the daemons. */
const missedAtOnce = 10

/** A measured value, its rival in the same minute if there is one, and the target. */
interface Figure {
  name: string
  unit: 'per second' | 'ms' | 'requests' | 'ratio'
  ours: readonly number[]
  rival?: readonly number[]
  /** A limit of `ours`, or of the ratio. */
  target: string
}

const rows: Record<string, (place: ClusterPlace) => Promise<Figure[]>> = {
  hits: measureHits,
  purge: measurePurge,
  death: measureDeath,
  together: measureTogether,
  events: measureEvents,
  shared: measureShared,
  cold: measureCold,
}
const asked = values.only?.split(',') ?? [...Object.keys(rows), 'order', 'appliers']
const unknown = asked.filter((name) => !(name in rows) && name !== 'order' && name !== 'appliers')
if (unknown.length > 0) throw new Error(`--only ${unknown.join(',')}: no such row`)

const figures = asked.some((name) => name in rows) ? await measureDaemons() : []
const order = asked.includes('order') ? await measureOrder(seconds) : []
const crowds = asked.includes('appliers') ? await measureAppliers(values.nodes.split(',').map(Number), seconds) : []
if (values.json) console.log(JSON.stringify({ figures, order, crowds }))
else print()
hangUp()

async function measureDaemons(): Promise<Figure[]> {
  const place = await startCluster()
  try {
    const measured: Figure[] = []
    for (const [name, measure] of Object.entries(rows))
      if (asked.includes(name)) measured.push(...(await measure(place)))
    return measured
  } finally {
    await place.stop()
  }
}

async function inRounds(work: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await work(round)
}

async function measureHits({ nodes: [one, two, three], single }: ClusterPlace): Promise<Figure[]> {
  const [ours, rival]: [number[], number[]] = [[], []]
  const servers = [one.daemon.pid, single.daemon.pid]
  pin('0', ...servers)
  pin('1', process.pid, two.daemon.pid, three.daemon.pid)
  const hits = async ({ daemon }: BenchNode, duration: number) => {
    for (let visit = 0; visit < 3; visit += 1) await ask(daemon, '/hit')
    const headers = { ...browserHeaders({ gzip: true, cookie: false }), Host: host }
    const url = `${daemon.url}/hit`
    return (await load({ url, headers, connections: 32, seconds: duration })).requestsPerSecond
  }
  // Not counted: compiles the code of both.
  for (const node of [one, single]) await hits(node, 1)
  await inRounds(async () => {
    ours.push(await hits(one, seconds))
    rival.push(await hits(single, seconds))
  })
  pin('0,1', process.pid, two.daemon.pid, three.daemon.pid, ...servers)
  return [{ name: 'hits of a node; on SQLite', unit: 'per second', ours, rival, target: 'ratio of at least 0.95' }]
}

/** Purges of one tag each, one after another. Returns milliseconds. */
async function purges({ daemon }: BenchNode, first: number, count: number, pages: number | null): Promise<number[]> {
  const times: number[] = []
  for (let tag = first; tag < first + count; tag += 1) {
    const { took, body } = await ask(daemon, '/', { method: 'PURGE', headers: { xkey: `tag-${tag}` } })
    if (pages !== null && !body.includes(`Invalidated ${pages} objects`)) throw new Error(body)
    times.push(took)
  }
  return times
}

async function measurePurge({ nodes, single }: ClusterPlace): Promise<Figure[]> {
  const [ours, rival]: [number[], number[]] = [[], []]
  await purges(nodes[0], endless, 200, 0)
  await purges(single, endless, 200, 0)
  await inRounds(async (round) => {
    const first = round * perRound
    for (const node of [...nodes, single]) await fill(node, first)
    ours.push(...(await purges(nodes[0], first, perRound, nodes.length)))
    rival.push(...(await purges(single, first, perRound, 1)))
  })
  return timesOf('purge of a tag, three live nodes; on SQLite', { ours, rival }, ['15 ms', '60 ms'])
}

/** Visits the page of each tag, and waits until all are stored. */
async function fill({ daemon }: BenchNode, first: number): Promise<void> {
  const before = await entries(daemon.url)
  for (let tag = first; tag < first + perRound; tag += 1) await ask(daemon, `/tag/${tag}`)
  await until(async () => (await entries(daemon.url)) >= before + perRound)
}

/** Pages in the store of a daemon. */
async function entries(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return [...text.matchAll(/^pagecache_pages(?:\{[^}]*\})? (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
}

function timesOf(
  name: string,
  { ours, rival }: { ours: readonly number[]; rival: readonly number[] },
  [middle, last]: readonly [string, string],
): Figure[] {
  const at = (rank: number, target: string): Figure => ({
    name: `${name}: ${rank === 50 ? 'median' : '99th percentile'}`,
    unit: 'ms',
    ours: [percentile(ours, rank)],
    rival: [percentile(rival, rank)],
    target: `at most ${target}`,
  })
  return [at(50, middle), at(99, last)]
}

async function measureDeath({ nodes: [one, , three] }: ClusterPlace): Promise<Figure[]> {
  const [firsts, before, after]: [number[], number[], number[]] = [[], [], []]
  let tag = endless + 1_000
  const next = async (count: number) => purges(one, (tag += 1_000), count, null)
  await inRounds(async () => {
    before.push(...(await next(50)))
    three.daemon.kill('SIGKILL')
    await three.daemon.ended
    firsts.push(...(await next(1)))
    after.push(...(await next(50)))
    await three.restart()
  })
  const name = 'the following purges; before the death'
  return [
    { name: 'first purge after a node died', unit: 'ms', ours: firsts, target: 'at most 1,200 ms' },
    { name, unit: 'ms', ours: [median(after)], rival: [median(before)], target: 'ratio of about 1' },
  ]
}

async function measureTogether({ nodes, single }: ClusterPlace): Promise<Figure[]> {
  const [ours, rival]: [number[], number[]] = [[], []]
  let first = 2 * endless
  const storm = ({ daemon: { port } }: BenchNode, connections: number) => {
    const wanted: Storm = { port, first: (first += endless), count: endless, connections, pages: 0, seconds }
    return runFile<StormResult>('lib/purge-client.ts', [JSON.stringify(wanted)])
  }
  const together = async () => {
    const all = await Promise.all(nodes.map((node) => storm(node, 16)))
    return all.reduce((sum, { perSecond }) => sum + perSecond, 0)
  }
  // Not counted: compiles the code of all.
  for (const work of [together, () => storm(single, 48)]) await work()
  await inRounds(async () => {
    ours.push(await together())
    rival.push((await storm(single, 48)).perSecond)
  })
  const name = 'purges over all nodes, 48 connections; on SQLite'
  return [{ name, unit: 'per second', ours, rival, target: 'at least 500' }]
}

async function measureEvents({ nodes: [one], single }: ClusterPlace): Promise<Figure[]> {
  const [ours, rival]: [number[], number[]] = [[], []]
  const stages = new Map([
    [one, await one.newStage()],
    [single, await single.newStage()],
  ])
  const events = async (node: BenchNode, duration: number) => {
    const url = `${node.daemon.url}/vendor-stage/track`
    const headers = { 'Content-Type': 'application/json', Host: host }
    const posts = eventsOfVisitors(stages.get(node)!)
    return (await load({ url, headers, connections: 64, seconds: duration, posts })).requestsPerSecond
  }
  for (const node of [one, single]) await events(node, 1)
  await inRounds(async () => {
    ours.push(await events(one, seconds))
    rival.push(await events(single, seconds))
  })
  const name = 'durable events of stages, one node; on SQLite'
  return [{ name, unit: 'per second', ours, rival, target: 'at least 3,000' }]
}

async function measureShared({ nodes: [one, two], single, redis }: ClusterPlace): Promise<Figure[]> {
  const [ours, rival]: [number[], number[]] = [[], []]
  const size = async () => Number(await redis.run('DBSIZE'))
  await inRounds(async (round) => {
    const pages = Array.from({ length: perRound }, (_, page) => `/shared/${round * perRound + page}`)
    const before = await size()
    for (const page of pages) await ask(one.daemon, page)
    await until(async () => (await size()) >= before + perRound)
    for (const page of pages) {
      const { took, cacheStatus } = await ask(two.daemon, page)
      if (!cacheStatus.includes('fetched by another node')) throw new Error(`${page}: ${cacheStatus}`)
      ours.push(took)
      rival.push((await ask(single.daemon, page)).took)
    }
  })
  return timesOf('page from Redis; from the shop', { ours, rival }, ['3 ms', '10 ms']).slice(0, 1)
}

async function measureCold({ nodes, shop }: ClusterPlace): Promise<Figure[]> {
  shop.forget()
  for (let first = 0; first < coldPages; first += missedAtOnce) {
    const pages = Array.from({ length: missedAtOnce }, (_, page) => `/cold/${first + page}`)
    const crowd = pages.flatMap((page) =>
      nodes.flatMap((node) => Array.from({ length: visitors }, () => ask(node.daemon, page))),
    )
    await Promise.all(crowd)
  }
  const name = `requests to the shop, ${coldPages} cold pages`
  return [{ name, unit: 'requests', ours: [shop.hits()], target: `exactly ${coldPages}` }]
}

function print(): void {
  const number = (value: number, unit: Figure['unit']) =>
    unit === 'ms' ? `${value.toFixed(1)} ms` : Math.round(value).toLocaleString('en')
  const spread = (measured: readonly number[], unit: Figure['unit']) =>
    withRange(measured, (value) => number(value, unit))
  if (figures.length > 0) console.log('| | cluster | rival | ratio | target |\n|---|---|---|---|---|')
  for (const { name, unit, ours, rival, target } of figures) {
    const ratio = rival === undefined ? '' : median(ours.map((value, round) => value / rival[round]!)).toFixed(2)
    console.log(
      `| ${name} | ${spread(ours, unit)} | ${rival === undefined ? '' : spread(rival, unit)} | ${ratio} | ${target} |`,
    )
  }
  if (order.length > 0) printOrder(order)
  if (crowds.length > 0) printAppliers(crowds)
}
