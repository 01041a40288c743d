import { hostname } from 'node:os'
import { findWaitingGroup } from '../../queue/find-messages.ts'
import { firstOfGroups } from '../../queue/find-next.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { prepare } from '../../records/statements.ts'
import { addHistograms, byDoubling, emptyHistogram, percentile } from './latency.ts'
import { batchKeys, batchOf, batchType } from './messages.ts'
import { averageRate, type WarmupProgress } from './progress.ts'
import { addRings, etaOf, peakOf, rateNow, type Eta, type SecondRing } from './second-ring.ts'

/** Requests by result. Attempts that are retried are not counted. */
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
  /** When the request started. */
  since: number
  /** Number of the attempt, from 1. */
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
  /** Requests in flight. */
  concurrency: number
  /** Current limit of requests in flight, and the configured one. */
  limit: number
  configured: number
  /** Milliseconds between the starts of two requests. */
  delay: number
  /** Why the origin gets fewer requests than configured; `until`: none before this time. */
  throttled: { reason: '429' | '503' | 'errors' | 'latency' | 'retry-after'; until: number | null } | null
  /** Smoothed current latency; null before the first response. */
  latency: number | null
  usualLatency: number | null
  /** Attempts in the last minute, and how many of them got no usable response (none at all, 429, 5xx). */
  requests: number
  errors: number
}

/** The live figures of one process for one run. */
export interface WorkerLive {
  host: string
  pid: number
  /** When the process started working on the run. */
  startedAt: number
  done: number
  /** URLs done in its best second. */
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
  /** Milliseconds, since the last snapshot. */
  eventLoopDelay: { mean: number; max: number }
}

interface LiveWorker extends Pick<WorkerLive, 'host' | 'pid' | 'startedAt' | 'done' | 'memory' | 'eventLoopDelay'> {
  id: string
  at: number
  /** Whether the worker reported within the last seconds. The figures of dead workers still count, their slots do not. */
  alive: boolean
}

/** The live figures of a run, merged over all processes that have worked on it. */
export interface WarmupLive extends Pick<WorkerLive, 'results' | 'slowest' | 'failures' | 'origins'> {
  /** When the figures were read. */
  at: number
  /** When a worker last reported; null if none has. */
  updatedAt: number | null
  workers: LiveWorker[]
  /** Another run, which workers process before this one. */
  behind: string | null
  slots: (LiveSlot & { worker: string })[]
  /** URLs per second: over the last seconds, since the start without pauses, in the best second. */
  rate: { now: number; average: number; peak: number }
  /** URLs done in each of the last 60 seconds, oldest first; the last second is incomplete. */
  perSecond: number[]
  latency: { p50: number | null; p90: number | null; p99: number | null; buckets: { upTo: number; count: number }[] }
  /** Null unless the run is running. */
  eta: Eta | null
}

/** Workers report four times a second; one that has been silent for longer counts as dead (milliseconds). */
const aliveWindow = 3000
const maxSlowest = 10
const maxFailures = 20

/** Writes the live figures of a worker, in the transaction of its progress. */
export async function writeLive(
  db: RecordsDatabase,
  runId: string,
  worker: string,
  live: WorkerLive,
  at: number,
): Promise<void> {
  await writeSnapshot(db, { runId, worker, snapshot: JSON.stringify(live), at })
}

const writeSnapshot = prepare<{ runId: string; worker: string; snapshot: string; at: number }>(
  (db, { runId, worker, snapshot, at }) =>
    db
      .insertInto('warmup_live')
      .values({ run_id: runId, worker, snapshot, at })
      .onConflict((conflict) => conflict.columns(['run_id', 'worker']).doUpdateSet({ snapshot, at })),
)

/** Reads the live figures of a run, merged over all its workers. */
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
  const live = mergeLive(
    workers,
    {
      running: progress.status === 'running',
      remaining: progress.remaining_urls,
      average: run ? averageRate(run, now) : 0,
    },
    now,
  )
  const waits = progress.status === 'running' && !live.workers.some(({ alive }) => alive)
  return { ...live, behind: waits ? await findRunAhead(records, progress.id) : null }
}

/**
 * The running warmup that workers process before they begin this one; null if there is none. A worker takes the batches of an origin in
 * the order of the queue, so a run waits only while another one comes first at each of its origins.
 */
export async function findRunAhead(records: Records, id: string): Promise<string | null> {
  const { rows } = await firstOfGroups(records.db, { transport: 'async', type: batchType })
  const first = new Map(rows.map(({ group, payload }) => [group, batchOf({ payload: JSON.parse(payload) }).run]))
  const group = await findWaitingGroup(records.db, batchKeys(id))
  const ahead = group === null ? undefined : first.get(group)
  if (ahead === undefined || [...first.values()].includes(id)) return null
  const row = await records.db
    .selectFrom('warmup_live')
    .innerJoin('warmup_runs', 'warmup_runs.id', 'run_id')
    .select('run_id')
    .where('run_id', '=', ahead)
    .where('status', '=', 'running')
    .where('at', '>=', records.now() - aliveWindow)
    .limit(1)
    .executeTakeFirst()
  return row?.run_id ?? null
}

/**
 * Merges the live figures of workers.
 *
 * @param workers oldest report first
 * @param run `average`: URLs per second since the start
 */
export function mergeLive(
  workers: readonly { id: string; at: number; live: WorkerLive }[],
  { running, remaining, average }: { running: boolean; remaining: number; average: number },
  now: number,
): Omit<WarmupLive, 'behind'> {
  const alive = workers.filter(({ at }) => now - at <= aliveWindow)
  const ring = addRings(
    workers.map(({ live }) => live.ring),
    now,
  )
  const latencies = workers.reduce((sum, { live }) => addHistograms(sum, live.latencies), emptyHistogram())
  return {
    at: now,
    updatedAt: workers.at(-1)?.at ?? null,
    workers: workers.map(({ id, at, live }) => ({ id, at, alive: now - at <= aliveWindow, ...pickWorker(live) })),
    slots: alive.flatMap(({ id, live }) => live.slots.map((slot) => ({ worker: id, ...slot }))),
    rate: { now: rateNow(ring), average, peak: Math.max(peakOf(ring), ...workers.map(({ live }) => live.peak)) },
    perSecond: [...ring.counts],
    latency: {
      p50: percentile(latencies, 0.5),
      p90: percentile(latencies, 0.9),
      p99: percentile(latencies, 0.99),
      buckets: byDoubling(latencies),
    },
    results: workers.map(({ live }) => live.results).reduce(addResults, emptyResults()),
    slowest: slowestOf(workers.flatMap(({ live }) => live.slowest)),
    failures: latestOf(workers.flatMap(({ live }) => live.failures)),
    origins: mergeOrigins(alive.flatMap(({ live }) => live.origins)),
    eta: running ? etaOf(ring, remaining, average) : null,
  }
}

function pickWorker({ host, pid, startedAt, done, memory, eventLoopDelay }: WorkerLive) {
  return { host, pid, startedAt, done, memory, eventLoopDelay }
}

export function emptyResults(): Results {
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
  return urls.toSorted((a, b) => b.ms - a.ms).slice(0, maxSlowest)
}

/** Newest first. */
export function latestOf(failures: readonly LiveFailure[]): LiveFailure[] {
  return failures.toSorted((a, b) => b.at - a.at).slice(0, maxFailures)
}

/** One process works on an origin at a time: if two report it, the later one has taken over. */
function mergeOrigins(origins: readonly LiveOrigin[]): LiveOrigin[] {
  return [...new Map(origins.map((origin) => [origin.origin, origin])).values()]
}

/** The identity of this process in its live figures. */
export function localProcess(): { host: string; pid: number } {
  return { host: hostname(), pid: process.pid }
}
