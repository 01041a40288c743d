import { hostname } from 'node:os'
import type { Records } from '../../records/open.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { addLatencies, byDoubling, noLatencies, percentile } from './latency.ts'
import { averageRate, type WarmupProgress } from './progress.ts'
import { addRings, etaOf, peakOf, rateNow, type Eta, type SecondRing } from './second-ring.ts'

/** How requests ended. An attempt that is tried again is in none of them. */
export interface Results {
  fetched: number
  fresh: number
  /** By reason: `set-cookie`, `private`, `no-store`, `too-large`, `bypass` … (result-class.ts). */
  notStored: Record<string, number>
  /** By status, or `timeout`, `refused`, `reset`, `dns`, `tls`, `other`. */
  failed: Record<string, number>
}

/** Times are milliseconds since the epoch, durations milliseconds. */
export interface LiveSlot {
  url: string
  /** When the request under way began. */
  since: number
  /** Which attempt it is, from 1. */
  attempt: number
}

export interface LiveFailure {
  url: string
  status: number | null
  error: string
  attempts: number
  at: number
}

export interface SlowUrl {
  url: string
  ms: number
  at: number
}

export interface LiveOrigin {
  origin: string
  /** Requests under way. */
  concurrency: number
  /** Requests that may be under way now, and as configured. */
  limit: number
  configured: number
  /** Between the starts of two requests. */
  delay: number
  /** Why it is asked for less than configured, or not at all until then. */
  throttled: { reason: '429' | '503' | 'latency' | 'retry-after'; until: number | null } | null
  /** Smoothed; null before the first answer. */
  latency: number | null
  usualLatency: number | null
  /** Attempts, and those without a usable answer (no answer, 429, 5xx), over the last minute. */
  requests: number
  errors: number
}

/** What one process that works on a run tells of it; its own part alone. */
export interface WorkerLive {
  host: string
  pid: number
  /** When it took up the run. */
  startedAt: number
  done: number
  /** Its best second. */
  peak: number
  ring: SecondRing
  latencies: readonly number[]
  results: Results
  slots: LiveSlot[]
  slowest: SlowUrl[]
  failures: LiveFailure[]
  origins: LiveOrigin[]
  /** Bytes. */
  memory: { rss: number; heapUsed: number }
  /** Of the event loop since the last writing. */
  eventLoopDelay: { mean: number; max: number }
}

interface LiveWorker extends Pick<WorkerLive, 'host' | 'pid' | 'startedAt' | 'done' | 'memory' | 'eventLoopDelay'> {
  id: string
  at: number
  /** Heard of within the last seconds; the figures of the others still count, their slots do not. */
  alive: boolean
}

/** The same, over all processes that have worked on the run. */
export interface WarmupLive extends Pick<WorkerLive, 'results' | 'slowest' | 'failures' | 'origins'> {
  /** When it was read, and when a worker last wrote; null where none has. */
  at: number
  updatedAt: number | null
  workers: LiveWorker[]
  slots: (LiveSlot & { worker: string })[]
  /** URLs in a second: of the last seconds, since the start without pauses, the best second. */
  rate: { now: number; average: number; peak: number }
  /** URLs done in each of the last 60 seconds, oldest first; the last one is still filling. */
  perSecond: number[]
  latency: { p50: number | null; p90: number | null; p99: number | null; buckets: { upTo: number; count: number }[] }
  /** Only while the run is running. */
  eta: Eta | null
}

/** A worker writes four times a second; after so long it is taken for gone (milliseconds). */
const aliveFor = 3000
const slowestKept = 10
const failuresKept = 20

/** Writes what a worker has to tell, in the transaction of its progress. `at`: now. */
export async function writeLive(
  db: RecordsDatabase,
  runId: string,
  worker: string,
  live: WorkerLive,
  at: number,
): Promise<void> {
  const row = { run_id: runId, worker, snapshot: JSON.stringify(live), at }
  await db
    .insertInto('warmup_live')
    .values(row)
    .onConflict((conflict) => conflict.columns(['run_id', 'worker']).doUpdateSet({ snapshot: row.snapshot, at }))
    .execute()
}

/** What is going on in a run, over all its workers. */
export async function readLive(records: Records, progress: WarmupProgress): Promise<WarmupLive> {
  const now = records.now()
  const run = await records.db.selectFrom('warmup_runs').selectAll().where('id', '=', progress.id).executeTakeFirst()
  const rows = await records.db
    .selectFrom('warmup_live')
    .select(['worker', 'snapshot', 'at'])
    .where('run_id', '=', progress.id)
    .orderBy('at')
    .execute()
  const workers = rows.map(({ worker, snapshot, at }) => ({ id: worker, at, live: JSON.parse(snapshot) as WorkerLive }))
  return mergeLive(
    workers,
    {
      running: progress.status === 'running',
      remaining: progress.remaining_urls,
      average: run ? averageRate(run, now) : 0,
    },
    now,
  )
}

/** @param workers oldest news first @param run `average`: URLs done in a second since its beginning */
export function mergeLive(
  workers: readonly { id: string; at: number; live: WorkerLive }[],
  { running, remaining, average }: { running: boolean; remaining: number; average: number },
  now: number,
): WarmupLive {
  const alive = workers.filter(({ at }) => now - at <= aliveFor)
  const ring = addRings(
    workers.map(({ live }) => live.ring),
    now,
  )
  const latencies = workers.reduce((sum, { live }) => addLatencies(sum, live.latencies), noLatencies())
  return {
    at: now,
    updatedAt: workers.at(-1)?.at ?? null,
    workers: workers.map(({ id, at, live }) => ({ id, at, alive: now - at <= aliveFor, ...pickWorker(live) })),
    slots: alive.flatMap(({ id, live }) => live.slots.map((slot) => ({ worker: id, ...slot }))),
    rate: { now: rateNow(ring), average, peak: Math.max(peakOf(ring), ...workers.map(({ live }) => live.peak)) },
    perSecond: [...ring.counts],
    latency: {
      p50: percentile(latencies, 0.5),
      p90: percentile(latencies, 0.9),
      p99: percentile(latencies, 0.99),
      buckets: byDoubling(latencies),
    },
    results: workers.map(({ live }) => live.results).reduce(addResults, noResults()),
    slowest: slowestOf(workers.flatMap(({ live }) => live.slowest)),
    failures: latestOf(workers.flatMap(({ live }) => live.failures)),
    origins: mergeOrigins(alive.flatMap(({ live }) => live.origins)),
    eta: running ? etaOf(ring, remaining, average) : null,
  }
}

function pickWorker({ host, pid, startedAt, done, memory, eventLoopDelay }: WorkerLive) {
  return { host, pid, startedAt, done, memory, eventLoopDelay }
}

export function noResults(): Results {
  return { fetched: 0, fresh: 0, notStored: {}, failed: {} }
}

function addResults(left: Results, right: Results): Results {
  return {
    fetched: left.fetched + right.fetched,
    fresh: left.fresh + right.fresh,
    notStored: addCounts(left.notStored, right.notStored),
    failed: addCounts(left.failed, right.failed),
  }
}

function addCounts(left: Record<string, number>, right: Record<string, number>): Record<string, number> {
  const sum = { ...left }
  for (const [reason, count] of Object.entries(right)) sum[reason] = (sum[reason] ?? 0) + count
  return sum
}

export function slowestOf(urls: readonly SlowUrl[]): SlowUrl[] {
  return urls.toSorted((a, b) => b.ms - a.ms).slice(0, slowestKept)
}

/** Newest first. */
export function latestOf(failures: readonly LiveFailure[]): LiveFailure[] {
  return failures.toSorted((a, b) => b.at - a.at).slice(0, failuresKept)
}

/** An origin is worked by one process at a time; where two tell of it, the later one has it now. */
function mergeOrigins(origins: readonly LiveOrigin[]): LiveOrigin[] {
  return [...new Map(origins.map((origin) => [origin.origin, origin])).values()]
}

/** Who this process is, in what it tells. */
export function whoAmI(): { host: string; pid: number } {
  return { host: hostname(), pid: process.pid }
}
