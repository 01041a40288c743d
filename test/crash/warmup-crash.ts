import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Records } from '../../src/records/open.ts'
import { durable, startPostgres } from '../helpers/postgres.ts'
import { recordsVariable } from '../helpers/environment.ts'
import { openRecords } from '../helpers/records.ts'
import type { WarmupProgress } from '../../src/warmup/run/progress.ts'
import { type Child, startChild } from '../helpers/child.ts'
import { runProgram } from '../helpers/daemon.ts'
import { scratch } from '../helpers/scratch.ts'
import { kindOf, publicUrl, Sampler, Shop } from './shop.ts'

/**
 * Kills the workers of a warmup with SIGKILL at random and checks the counts.
 *
 *   npm run crash -- [--urls 20000] [--kills 100] [--workers 2] [--concurrency 8] [--latency 30] [--seed 1] [--postgres] [--records-url URL]
 *
 * Starts a shop with the given number of pages (some not found, some private), one run, and workers that are killed at random times and
 * restarted, until all kills are done and the run has ended. Meanwhile another connection polls the progress of the run. Prints a
 * report, and exits with 1 if URLs were lost, counted twice or repeated more often than the concurrency allows.
 *
 * `--records-url` keeps the records in that PostgreSQL database, which must be empty. `--postgres` starts a server with synchronous commits
 * for it; every tenth kill then also ends the server as a power cut would, and starts it again.
 */

export interface CrashOptions {
  urls: number
  kills: number
  workers: number
  concurrency: number
  /** Milliseconds per page in the shop. */
  latency: number
  seed: number
  onKill?: (done: number, progress: WarmupProgress) => void
  /** Crashes the database server and starts it again. */
  crashServer?: () => Promise<void>
}

export interface CrashReport {
  kills: number
  seconds: number
  samples: number
  /** Longest time from a kill to the next request, in milliseconds. */
  longestSilence: number
  /** URLs fetched more than once, in total and because of the worst kill. */
  repeated: number
  repeatedByOneKill: number
  progress: WarmupProgress
  faults: string[]
}

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

const maxRun = 15 * 60_000
/** Kills of a worker for each crash of the server. */
const killsPerCrash = 10

export async function crashWarmup(options: CrashOptions): Promise<CrashReport> {
  const project = await scratch('warmup-crash')
  const shop = new Shop(options.urls, options.latency)
  const running = new Set<Child>()
  try {
    const origin = await shop.listen()
    const salesChannels = [
      { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: publicUrl, origin, sitemaps: ['/sitemap.xml'] },
    ]
    await writeFile(
      join(project.path, 'pagecache.yaml'),
      JSON.stringify({ salesChannels, warmup: { concurrency: options.concurrency, retries: 0 } }),
    )
    const started = await runProgram(['warmup:start', '--json'], { projectDir: project.path, env: recordsVariable() })
    if (started.code !== 0) throw new Error(`warmup:start ended with ${started.code}:\n${started.stderr}`)
    const { progressId } = JSON.parse(started.stdout) as { progressId: string }
    const records = await openRecords({ directory: join(project.path, 'var/data/prod'), now: Date.now })
    try {
      return await crashRun(options, {
        shop,
        records,
        id: progressId,
        running,
        startWorker: () => startWorker(project.path, running),
      })
    } finally {
      await records.close()
    }
  } finally {
    await Promise.all([...running].map((child) => child.stop('SIGKILL')))
    await shop.close()
    await project.discard()
  }
}

async function startWorker(projectDir: string, running: Set<Child>): Promise<Child> {
  const child = await startChild([process.execPath, bin, 'messenger:consume', 'async', '--project-dir', projectDir], {
    cwd: projectDir,
    ready: () => true,
  })
  running.add(child)
  void child.ended.then(() => running.delete(child))
  return child
}

interface CrashRun {
  shop: Shop
  records: Records
  id: string
  running: Set<Child>
  startWorker(): Promise<Child>
}

async function crashRun(
  options: CrashOptions,
  { shop, records, id, running, startWorker: start }: CrashRun,
): Promise<CrashReport> {
  const began = performance.now()
  const random = seeded(options.seed)
  const sampler = new Sampler(records, id)
  const end = new AbortController()
  const sampling = sampler.run(end.signal)
  const kills: number[] = []
  try {
    for (let worker = 0; worker < options.workers; worker++) await start()
    while (kills.length < options.kills && sampler.last?.status !== 'completed') {
      await sleep(150 + random() * 1000)
      const victim = [...running][Math.floor(random() * running.size)]!
      victim.kill('SIGKILL')
      await victim.ended
      kills.push(performance.now())
      if (kills.length % killsPerCrash === 0) await options.crashServer?.()
      options.onKill?.(kills.length, sampler.last!)
      // One that starts while the server is down ends by itself.
      while (running.size < options.workers) await start()
    }
    while (sampler.last?.status === 'running' && performance.now() - began < maxRun) await sleep(100)
  } finally {
    end.abort()
    await sampling
  }
  return judge(options, {
    shop,
    kills,
    sampler,
    seconds: (performance.now() - began) / 1000,
    failures: await failedUrls(records, id),
  })
}

async function failedUrls(records: Records, id: string): Promise<string[]> {
  const rows = await records.db.selectFrom('warmup_failures').select('url').where('run_id', '=', id).execute()
  return rows.map(({ url }) => url)
}

interface Findings {
  shop: Shop
  kills: number[]
  sampler: Sampler
  seconds: number
  failures: string[]
}

function judge(options: CrashOptions, { shop, kills, sampler, seconds, failures }: Findings): CrashReport {
  const progress = sampler.last!
  const faults = [...new Set(sampler.faults)].slice(0, 20)
  const expected = Array.from({ length: options.urls }, (_, number) => kindOf(number))
  const failed = expected.filter((kind) => kind !== 'page').length
  if (progress.status !== 'completed') faults.push(`the run is stuck: ${JSON.stringify(progress)}`)
  if (progress.processed_urls !== options.urls - failed || progress.failed_urls !== failed)
    faults.push(`not every URL was counted once: ${JSON.stringify(progress)}; expected ${failed} failures`)
  if (failures.length !== failed || new Set(failures).size !== failed)
    faults.push(`${failures.length} failures of ${new Set(failures).size} URLs are stored, expected ${failed}`)
  if (shop.requests.size !== options.urls) faults.push(`${options.urls - shop.requests.size} URLs were never requested`)
  const byKill = kills.map(() => 0)
  let repeated = 0
  for (const [number, times] of shop.requests) {
    for (const [index, at] of times.slice(0, -1).entries()) {
      repeated++
      const kill = kills.findIndex((killed) => killed > at && killed < times[index + 1]!)
      if (kill < 0) faults.push(`/p/${number} was fetched twice without a kill in between`)
      else byKill[kill]!++
    }
  }
  const repeatedByOneKill = Math.max(0, ...byKill)
  if (repeatedByOneKill > options.concurrency)
    faults.push(`one kill repeated ${repeatedByOneKill} URLs, more than ${options.concurrency}`)
  if (kills.length < options.kills)
    faults.push(`the run ended after ${kills.length} of ${options.kills} kills: give it more URLs`)
  return {
    kills: kills.length,
    seconds,
    samples: sampler.samples,
    longestSilence: longestSilence(kills, shop),
    repeated,
    repeatedByOneKill,
    progress,
    faults,
  }
}

/** Time from a kill to the next request, in milliseconds. */
function longestSilence(kills: readonly number[], shop: Shop): number {
  const starts = [...shop.requests.values()].flat().toSorted((a, b) => a - b)
  let next = 0
  return kills.reduce((longest, kill) => {
    while (next < starts.length && starts[next]! < kill) next++
    return next < starts.length ? Math.max(longest, starts[next]! - kill) : longest
  }, 0)
}

/** mulberry32, so that a seed always gives the same kills. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      urls: { type: 'string', default: '20000' },
      kills: { type: 'string', default: '100' },
      workers: { type: 'string', default: '2' },
      concurrency: { type: 'string', default: '8' },
      latency: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      postgres: { type: 'boolean', default: false },
      'records-url': { type: 'string' },
    },
  })
  const server = values.postgres ? await startPostgres(durable) : null
  if (values.postgres && server === null) throw new Error('PostgreSQL is not installed')
  const url = server?.url('postgres') ?? values['records-url']
  if (url !== undefined) process.env['PAGECACHE_RECORDS_URL'] = url
  const { faults, progress, ...found } = await crashWarmup({
    urls: Number(values.urls),
    kills: Number(values.kills),
    workers: Number(values.workers),
    concurrency: Number(values.concurrency),
    latency: Number(values.latency),
    seed: Number(values.seed),
    ...(server !== null && { crashServer: () => server.crash() }),
    onKill: (done, { percentage }) => done % 10 === 0 && console.error(`${done} kills, ${percentage} %`),
  })
  await server?.stop()
  console.log(JSON.stringify({ ...found, progress }, null, 2))
  for (const fault of faults) console.error(`FAULT: ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
