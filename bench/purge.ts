/**
 * Claim: purges are fast although each is durable, logged and explained, and visitors do not notice a storm of them; a tag with 100,000
 * pages is purged in under a second.
 *
 *   npx node bench/purge.ts [--rounds 3] [--tags 1000] [--large 100000] [--seconds 5] [--only "rates;visits;one process"] [--json]
 *
 * Rates: measures purges per second by tag, with ten pages each, alternately: `PURGE /` with `xkey` on 16 and on 64 connections, against the
 * daemon with one reverse proxy to deliver to, and against Varnish with its xkey module; and a bare loop that writes the same rows in
 * groups of the same size. Visits: visits cached pages at a fixed rate, on an idle daemon, during a storm on 16 connections, and while
 * the tag with many pages is purged. One process: sequential purges, 64 concurrent ones, and one tag with many pages (time to answer,
 * longest block of the event loop, memory growth, time until all URLs are logged). Prints median, minimum and maximum over the rounds.
 * Daemon, Varnish and loop run on core 0, clients on core 1. Build first. Without Debian's varnish and varnish-modules, the Varnish
 * column is empty.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request, type RequestOptions } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startDaemon, type Daemon } from '../test/helpers/daemon.ts'
import { startOrigin, type Origin } from '../test/helpers/origin.ts'
import { installed } from '../test/helpers/rivals.ts'
import { scratch } from '../test/helpers/scratch.ts'
import { startVarnishProxy } from '../test/helpers/varnish.ts'
import { browserHeaders } from './lib/browser.ts'
import { beforeOthers, leaveServerCore, onServerCore, whenIdle } from './lib/cores.ts'
import { fillPages, pagesOfTag } from './lib/fill-pages.ts'
import type { Latencies, Visits } from './lib/latency-client.ts'
import type { Storm, StormResult } from './lib/purge-client.ts'
import type { InProcess } from './lib/purge-worker.ts'
import { runFile } from './lib/run-file.ts'
import { median } from './lib/statistics.ts'

const allParts = ['rates', 'visits', 'one process']
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    tags: { type: 'string', default: '1000' },
    large: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: allParts.join(';') },
    json: { type: 'boolean', default: false },
  },
})
const tags = Number(values.tags)
const rounds = Number(values.rounds)
const parts = values.only.split(';')
for (const part of parts)
  if (!allParts.includes(part)) throw new Error(`--only ${part}: expected ${allParts.join(', ')}`)
const crowds = [16, 64] as const
/** Tags from this number on have no pages; a storm can use any number of them. */
const endless = 10_000_000
/** The first purges of a daemon, while V8 compiles their code; they have a row of their own. */
const firstPurges = 10_000
/** Tags for the measured storms, and for those beside visits. */
const filled = tags * (crowds.length + 1)
/** Purges before the measurement: a daemon runs for months, so that its code has long been compiled. */
const warmingUp = 3 * firstPurges
/** Runs of the bare loop per round. */
const loopRuns = 3

leaveServerCore()
const rates: Record<string, number[]> = {}
const latencies = { quiet: [] as number[], beside: [] as number[], large: [] as number[] }
const beside: StormResult[] = []
const inProcess: InProcess[] = []
for (let round = 0; round < rounds; round += 1) {
  const origin = await startShop()
  if (parts.includes('rates')) await measureRates(origin)
  if (parts.includes('visits')) await withDaemon(origin, Number(values.large), measureVisits)
  await origin.stop()
  if (parts.includes('one process')) inProcess.push(await measureInProcess())
}
if (values.json) console.log(JSON.stringify({ rates, latencies, beside, inProcess }))
else print()

function note(name: string, rate: number): void {
  ;(rates[name] ??= []).push(rate)
}

/** A shop with ten pages per tag. */
async function startShop(): Promise<Origin> {
  return startOrigin({
    otherwise: ({ path }) => ({
      headers: {
        'cache-control': 'public, s-maxage=3600',
        'content-type': 'text/html',
        xkey: `tag-${Math.floor(Number(path.slice(1)) / pagesOfTag)}`,
      },
      body: 'a page of the bench '.repeat(50),
    }),
  })
}

/** Runs `work` with a daemon that has been purging for a while, and whose tag `large` has this many pages. */
async function withDaemon(origin: Origin, large: number, work: (daemon: Daemon) => Promise<void>): Promise<void> {
  const { path, discard } = await scratch('purge-bench')
  fillPages(join(path, 'var/cache/prod'), filled + warmingUp, large)
  const id = '0190c0de-0000-7000-8000-000000000001'
  const sink = await startOrigin({ otherwise: () => ({ body: 'taken' }) })
  const config = (url: string) => ({
    salesChannels: [{ id, name: 'Bench', url, origin: origin.url }],
    reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: sink.url }],
  })
  const daemon = await startDaemon({ prefix: onServerCore, projectDir: path, config })
  try {
    for (let done = 0; done < warmingUp; done += firstPurges) {
      const perSecond = await stormOn(daemon.port, { first: filled + done, count: firstPurges, connections: 64 })
      if (done === 0) note('over HTTP, 64 connections, after a start', perSecond)
    }
    await work(daemon)
  } finally {
    await daemon.stop()
    await sink.stop()
    await discard()
  }
}

async function measureRates(origin: Origin): Promise<void> {
  await withDaemon(origin, 0, measurePurges)
  // Right after ours: the speed of disks and cores changes from minute to minute.
  for (const group of crowds) await measureLoop(group)
  for (const connections of crowds) await measureVarnish(origin, connections)
}

async function measurePurges({ port }: Daemon): Promise<void> {
  for (const [place, connections] of crowds.entries())
    note(
      `over HTTP, ${connections} connections`,
      await stormOn(port, { first: place * tags, count: tags, connections }),
    )
}

/** The median of several runs, since each takes less than a second. */
async function measureLoop(group: number): Promise<void> {
  const measured: number[] = []
  for (let run = 0; run < loopRuns; run += 1) {
    const { perSecond } = await runFile<{ perSecond: number }>('lib/bare-purges.ts', [String(tags), String(group)], {
      command: [...onServerCore, process.execPath],
    })
    measured.push(perSecond)
  }
  note(`a bare loop, groups of ${group}`, median(measured))
}

/** Visits a hundred pages; each visit is a hit from memory. */
async function measureVisits(daemon: Daemon): Promise<void> {
  const paths = Array.from({ length: 100 }, (_, n) => `/${endless * 100 + n}`)
  for (const path of [...paths, ...paths]) await visit(daemon.url + path)
  const seconds = Number(values.seconds)
  const visits: Omit<Visits, 'seconds'> = {
    port: daemon.port,
    paths,
    headers: browserHeaders({ gzip: true, cookie: false }),
    perSecond: 300,
    connections: 8,
  }
  const visitFor = (given: number) =>
    runFile<Latencies>('lib/latency-client.ts', [JSON.stringify({ ...visits, seconds: given })], {
      command: beforeOthers(),
    })
  await visitFor(1)
  latencies.quiet.push((await visitFor(seconds)).p99)
  const endlessly = { port: daemon.port, first: tags * crowds.length, count: endless, connections: 16, pages: null }
  const raging = runFile<StormResult>('lib/purge-client.ts', [JSON.stringify({ ...endlessly, seconds: seconds + 2 })], {
    command: [...whenIdle, process.execPath],
  })
  latencies.beside.push((await visitFor(seconds)).p99)
  beside.push(await raging)
  const visiting = visitFor(seconds)
  await pause((seconds * 1_000) / 3)
  const headers = { xkey: 'large' }
  await visit(daemon.url, { method: 'PURGE', headers })
  latencies.large.push((await visiting).p99)
}

async function measureVarnish(origin: Origin, connections: number): Promise<void> {
  if (!installed('varnishd')) return
  const proxy = await startVarnishProxy(origin.host, (vcl) => vcl, onServerCore)
  try {
    for (let n = 0; n < tags * pagesOfTag; n += 50)
      await Promise.all(Array.from({ length: 50 }, (_, each) => visit(`${proxy.url}/${n + each}`)))
    // A first purge sets the fence's mark; the cache is then filled again, so that all pages are stored under it.
    await stormOn(proxy.port, { first: endless, count: 1, connections: 1 }, 0)
    for (let n = 0; n < tags * pagesOfTag; n += 50)
      await Promise.all(Array.from({ length: 50 }, (_, each) => visit(`${proxy.url}/${n + each}`)))
    note(
      `Varnish and xkey, ${connections} connections`,
      await stormOn(proxy.port, { first: 0, count: tags, connections }),
    )
  } finally {
    await proxy.stop()
  }
}

/** Purges tags with `pages` pages each. Resolves to the purges per second. */
async function stormOn(
  port: number,
  tagsOf: Pick<Storm, 'first' | 'count' | 'connections'>,
  pages = pagesOfTag,
): Promise<number> {
  const storm = JSON.stringify({ ...tagsOf, port, pages, seconds: 3600 })
  const { perSecond } = await runFile<StormResult>('lib/purge-client.ts', [storm])
  return perSecond
}

async function measureInProcess(): Promise<InProcess> {
  const { path, discard } = await scratch('purge-bench')
  const child = fork(new URL('lib/purge-worker.ts', import.meta.url), [path, String(tags * 2), values.large], {
    execArgv: ['--expose-gc'],
  })
  const ended = once(child, 'exit')
  const failed = ended.then(([code]) => {
    throw new Error(`The purge client exited with ${String(code)}`)
  })
  const [value] = (await Promise.race([once(child, 'message'), failed])) as [InProcess]
  failed.catch(() => undefined)
  await ended
  await discard()
  return value
}

function visit(url: string, options: RequestOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (response) => response.resume().on('end', resolve))
    asked.on('error', reject)
    asked.end()
  })
}

function print(): void {
  line('', 'median', 'lowest', 'highest')
  if (parts.includes('rates')) printRates()
  if (parts.includes('visits')) printVisits()
  if (parts.includes('one process')) printInProcess()
}

function printRates(): void {
  line('purges per second, ten pages each')
  for (const [name, measured] of Object.entries(rates).sort(([one], [other]) => (one < other ? -1 : 1)))
    line(`  ${name}`, ...spread(measured))
  for (const crowd of crowds) {
    const ours = `over HTTP, ${crowd} connections`
    line(`  ÷ Varnish, ${crowd} connections`, ...spread(ratios(ours, `Varnish and xkey, ${crowd} connections`), 2))
    line(`  ÷ the bare loop, ${crowd}`, ...spread(ratios(ours, `a bare loop, groups of ${crowd}`), 2))
  }
}

function printVisits(): void {
  line("visits' 99th percentile, ms")
  line('  idle', ...spread(latencies.quiet, 2))
  line('  during a storm on 16 connections', ...spread(latencies.beside, 2))
  line(`  during the purge of a tag with ${values.large} pages`, ...spread(latencies.large, 2))
  const toIdle = (measured: readonly number[]) => measured.map((value, round) => value / latencies.quiet[round]!)
  line('  storm ÷ idle', ...spread(toIdle(latencies.beside), 2))
  line('  large tag ÷ idle', ...spread(toIdle(latencies.large), 2))
  line('  purges per second in that storm', ...spread(beside.map(({ perSecond }) => perSecond)))
}

function printInProcess(): void {
  const each = (read: (measured: InProcess) => number, digits = 0) => spread(inProcess.map(read), digits)
  line('in one process, purges per second')
  line('  sequential', ...each(({ oneByOne }) => oneByOne))
  line('  64 concurrent', ...each(({ together }) => together))
  line(`one tag with ${values.large} pages`)
  line('  time to answer, s', ...each(({ large }) => large.seconds, 2))
  line('  longest block of the event loop, ms', ...each(({ large }) => large.loopMilliseconds))
  line('  additional memory, MB', ...each(({ large }) => large.rssMegabytes))
  line('  time until all URLs are in the log, s', ...each(({ large }) => large.tracedSeconds, 2))
}

function line(name: string, ...cells: readonly string[]): void {
  console.log(name.padEnd(52) + cells.map((cell) => cell.padStart(10)).join(''))
}

function spread(measured: readonly number[], digits = 0): string[] {
  return [median(measured), Math.min(...measured), Math.max(...measured)].map((value) => value.toFixed(digits))
}

function ratios(name: string, other: string): number[] {
  return (rates[name] ?? []).flatMap((rate, round) =>
    rates[other]?.[round] === undefined ? [] : [rate / rates[other][round]],
  )
}
