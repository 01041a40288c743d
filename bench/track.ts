/**
 * Claims: popup events are accepted as fast as HTTP and the disk allow, statistics over millions of them are immediate, and visitors of
 * cached pages notice none of it.
 *
 *   npx node bench/track.ts [--rounds 7] [--seconds 3] [--events 10000000] [--only http|rows|hits|statistics] [--postgres] [--json]
 *
 * 1. Acknowledged (durable) events per second over HTTP, against an h3 handler that only parses the body.
 * 2. Durable rows per second, against one multi-row INSERT loop of better-sqlite3.
 * 3. Hits at 300 per second, on an idle daemon and with 2,000 events per second; latency of events while `stage:stats` runs continuously.
 * 4. Statistics over `--events` events of one stage within three years.
 * Servers and writers run on core 0, the load on core 1.
 *
 * `--postgres`: part 2 alone, on a PostgreSQL server with synchronous commits that the benchmark starts. Target: 3,000 events per second.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { openRecords } from '../src/records/open.ts'
import { readStatistics } from '../src/stages/statistics.ts'
import { startChild } from '../test/helpers/child.ts'
import { freePort, runProgram, startDaemon, type Daemon } from '../test/helpers/daemon.ts'
import { startOrigin } from '../test/helpers/origin.ts'
import { durable, newDatabase, startPostgres } from '../test/helpers/postgres.ts'
import { fillEvents } from './lib/fill-events.ts'
import { browserHeaders } from './lib/browser.ts'
import { leaveServerCore, onServerCore } from './lib/cores.ts'
import type { EventLatencies, Events } from './lib/event-client.ts'
import type { Latencies, Visits } from './lib/latency-client.ts'
import { pageHeaders, samplePage } from './lib/page.ts'
import { runFile } from './lib/run-file.ts'
import { median, withRange } from './lib/statistics.ts'
import { eventsOfVisitors } from './lib/visitors.ts'
import { load } from './lib/wrk.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3' },
    events: { type: 'string', default: '10000000' },
    only: { type: 'string' },
    postgres: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const unlimited = { stages: { rateLimit: { perAddress: null, perStage: null, total: null } } }

leaveServerCore()
const server = values.postgres ? await startPostgres({ ...durable, autovacuum: 'on' }) : null
if (values.postgres && server === null) throw new Error('PostgreSQL is not installed')
const origin = await startOrigin()
const page = samplePage()
origin.otherwise({ headers: { ...pageHeaders, 'content-encoding': 'gzip' }, body: page.gzip })
const daemon = await startDaemon({ prefix: onServerCore, config: unlimited, args: ['--origin', origin.url] })
try {
  const stage = await makeStage(daemon)
  const result: Result = {
    http: isAsked('http') ? [await compareHttp(stage, 64), await compareHttp(stage, 256)] : null,
    rows: isAsked('rows') ? await compareRows() : null,
    hits: isAsked('hits') ? await compareHits(stage) : null,
    statistics: isAsked('statistics') ? await askStatistics(stage, Number(values.events)) : null,
  }
  if (values.json) console.log(JSON.stringify(result))
  else report(result)
} finally {
  await daemon.stop()
  await origin.stop()
  await server?.stop()
}

function isAsked(part: string): boolean {
  if (values.postgres) return part === 'rows'
  return values.only === undefined || values.only === part
}

async function makeStage({ projectDir }: Daemon): Promise<string> {
  const { stdout, stderr } = await runProgram(['stage:create', 'Bench', '--json'], { projectDir })
  if (stdout === '') throw new Error(stderr)
  return (JSON.parse(stdout) as { stage: { id: string } }).stage.id
}

/** Starts the h3 rival on the servers' core. */
async function startBare(): Promise<{ url: string; port: number; pid: number; stop(): Promise<unknown> }> {
  const port = await freePort()
  const program = fileURLToPath(new URL('lib/bare-track.ts', import.meta.url))
  const url = `http://127.0.0.1:${port}`
  const { pid, stop } = await startChild([...onServerCore, process.execPath, program, String(port)], {
    ready: () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
  })
  return { url, port, pid, stop }
}

/** Events per second over `connections` connections. Only pagecache's acknowledgements are durable. */
async function compareHttp(stage: string, connections: number) {
  const bare = await startBare()
  const posts = eventsOfVisitors(stage)
  const ask = async ({ url, pid }: { url: string; pid: number }) => {
    const before = cpuTime(pid)
    const result = await load({
      url: `${url}/vendor-stage/track`,
      headers: { 'Content-Type': 'application/json' },
      connections,
      seconds,
      posts,
    })
    return { ...result, cpu: (cpuTime(pid) - before) / (result.requestsPerSecond * seconds) }
  }
  const turns = []
  try {
    // Not counted: warms up the JIT compilers of both.
    for (const server of [daemon, bare]) await ask(server)
    for (let round = 1; round <= rounds; round++) {
      const [ours, h3] = [await ask(daemon), await ask(bare)]
      turns.push({ ours: ours.requestsPerSecond, h3: h3.requestsPerSecond, p99: ours.p99, cpu: h3.cpu / ours.cpu })
      console.error(`http, ${connections} connections, ${round}: ${JSON.stringify(turns.at(-1))}`)
    }
  } finally {
    await bare.stop()
  }
  return {
    connections,
    ours: turns.map(({ ours }) => ours),
    h3: turns.map(({ h3 }) => h3),
    ratio: turns.map(({ ours, h3 }) => ours / h3),
    cpu: turns.map(({ cpu }) => cpu),
    p99: turns.map(({ p99 }) => p99),
  }
}

/** CPU time of a process with all its threads, in milliseconds. */
function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function compareRows() {
  const program = fileURLToPath(new URL('lib/event-rows.ts', import.meta.url))
  const [taskset, ...pinned] = onServerCore
  const write = async (who: string) => {
    const { stdout } = await promisify(execFile)(taskset, [
      ...pinned,
      process.execPath,
      program,
      who,
      '256',
      String(seconds),
      ...(server === null ? [] : [await newDatabase(server)]),
    ])
    return (JSON.parse(stdout) as { rowsPerSecond: number }).rowsPerSecond
  }
  const turns = []
  for (let round = 1; round <= rounds; round++) {
    turns.push({ ours: await write('ours'), insert: await write('insert') })
    console.error(`rows ${round}: ${JSON.stringify(turns.at(-1))}`)
  }
  return {
    ours: turns.map(({ ours }) => ours),
    insert: turns.map(({ insert }) => insert),
    ratio: turns.map(({ ours, insert }) => ours / insert),
  }
}

/** Hits on an idle daemon, with 2,000 events per second on the daemon, and with these events on h3 on the same core. */
async function compareHits(stage: string) {
  const bare = await startBare()
  const visits: Visits = {
    port: daemon.port,
    paths: ['/shoes'],
    headers: browserHeaders({ gzip: true, cookie: true }),
    perSecond: 300,
    seconds: 3 * seconds,
    connections: 8,
  }
  const events = (port: number): Events => ({ port, stage, perSecond: 2000, seconds: 3 * seconds + 1, connections: 64 })
  await fetch(`${daemon.url}/shoes`).then((answer) => answer.arrayBuffer())
  const visit = () => run<Latencies>('latency-client', visits, 0)
  const send = (port: number) => run<EventLatencies>('event-client', events(port), 5)
  const turns = []
  try {
    await Promise.all([visit(), send(daemon.port), send(bare.port)])
    for (let round = 1; round <= rounds; round++) {
      const quiet = await visit()
      const [busy] = await Promise.all([visit(), send(daemon.port)])
      const [floor] = await Promise.all([visit(), send(bare.port)])
      turns.push({ quiet: quiet.p99, busy: busy.p99, floor: floor.p99 })
      console.error(`hits ${round}: ${JSON.stringify(turns.at(-1))}`)
    }
  } finally {
    await bare.stop()
  }
  return {
    quiet: turns.map(({ quiet }) => quiet),
    busy: turns.map(({ busy }) => busy),
    floor: turns.map(({ floor }) => floor),
    multiple: turns.map(({ busy, quiet }) => busy / quiet),
    events: await askMeanwhile(stage, () => send(daemon.port)),
  }
}

/** 99th percentile of events while statistics are requested continuously, in milliseconds. */
async function askMeanwhile(stage: string, send: () => Promise<EventLatencies>): Promise<number> {
  const sent = send()
  let over = false
  void sent.finally(() => (over = true)).catch(() => {})
  while (!over)
    await runProgram(['stage:stats', stage, '--json'], { projectDir: daemon.projectDir, prefix: ['nice', '-n', '10'] })
  return (await sent).p99
}

/** Runs a load generator. Page visitors get priority on the load's core, so that they only wait for the server. */
async function run<T>(program: string, argument: object, nice: number): Promise<T> {
  const command = ['nice', '-n', String(nice), process.execPath]
  return await runFile(`lib/${program}.ts`, [JSON.stringify(argument)], { command })
}

/** Time of one statistics query over `events` events, in milliseconds: the slowest of several ranges. */
async function askStatistics(stage: string, events: number) {
  const directory = join(daemon.projectDir, 'var/data/prod')
  fillEvents(join(directory, 'records.sqlite'), stage, events)
  const records = await openRecords({ directory, now: Date.now })
  const took: number[] = []
  try {
    for (const days of [1, 2, 30, 92, 365, 730, 1095, null]) {
      const dateFrom = days === null ? null : new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)
      const times: number[] = []
      for (let time = 0; time < 15; time++) {
        const start = performance.now()
        await readStatistics(records, { popupId: stage, dateFrom, dateTo: null })
        times.push(performance.now() - start)
      }
      took.push(median(times))
      console.error(`statistics of ${days ?? 'all'} days: ${median(times).toFixed(2)} ms`)
    }
  } finally {
    await records.close()
  }
  return { events, slowest: Math.max(...took) }
}

interface Result {
  http: Awaited<ReturnType<typeof compareHttp>>[] | null
  rows: Awaited<ReturnType<typeof compareRows>> | null
  hits: Awaited<ReturnType<typeof compareHits>> | null
  statistics: Awaited<ReturnType<typeof askStatistics>> | null
}

function report({ http, rows, hits, statistics }: Result): void {
  const number = (value: number) => Math.round(value).toLocaleString('en')
  const milliseconds = (measured: readonly number[]) => `${withRange(measured, 2)} ms`
  console.log(`| | pagecache | rival | ratio | target |\n|---|---|---|---|---|`)
  for (const { connections, ours, h3, ratio, cpu } of http ?? []) {
    console.log(
      `| events per second, ${connections} connections; h3 that only parses | ${withRange(ours, number)} | ${withRange(h3, number)} | ${withRange(ratio, 2)} | at least 0.5 |`,
    )
    console.log(`| h3's CPU time per event ÷ pagecache's | | | ${withRange(cpu, 2)} | |`)
  }
  if (rows !== null)
    console.log(
      `| durable rows per second; multi-row INSERT loop | ${withRange(rows.ours, number)} | ${withRange(rows.insert, number)} | ${withRange(rows.ratio, 2)} | at least 0.7 |`,
    )
  if (hits !== null) {
    console.log(
      `| 99th percentile of hits with 2,000 events per second; idle | ${milliseconds(hits.busy)} | ${milliseconds(hits.quiet)} | ${withRange(hits.multiple, 2)} | at most 1.5 |`,
    )
    console.log(`| 99th percentile of hits with those events on h3 instead | | ${milliseconds(hits.floor)} | | |`)
    console.log(
      `\nEvents, 99th percentile: ${hits.events.toFixed(1)} ms at 2,000 per second while statistics are requested.`,
    )
  }
  for (const { connections, p99 } of http ?? [])
    console.log(`\nEvents, 99th percentile: ${withRange(p99, 1)} ms at full speed over ${connections} connections.`)
  if (statistics !== null)
    console.log(
      `\nStatistics over ${number(statistics.events)} events: ${statistics.slowest.toFixed(1)} ms for the slowest range (target: under 50).`,
    )
}
