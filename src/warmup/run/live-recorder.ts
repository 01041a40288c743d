import type { Pacer } from './pacer.ts'
import { latencyBucket, emptyHistogram } from './latency.ts'
import {
  latestOf,
  emptyResults,
  slowestOf,
  localProcess,
  type LiveFailure,
  type LiveOrigin,
  type LiveSlot,
  type WorkerLive,
} from './live.ts'
import { classOf, type ResultClass } from './result-class.ts'
import { countInRing, emptyRing, peakOf, advanceRing, type SecondRing } from './second-ring.ts'
import type { RequestObserver } from './warm.ts'
import type { WarmResult } from './warm-result.ts'

/** Reads the memory use and event loop delay of this process. */
export type Vitals = () => Pick<WorkerLive, 'memory' | 'eventLoopDelay'>

/** Slots in a snapshot: a screen has no more lines. */
const maxSlots = 64
/** Distinct reasons kept; further ones count as `other`. */
const maxReasons = 40

interface Origin {
  pacer: Pacer
  requests: SecondRing
  errors: SecondRing
}

/** Records the live figures of this process for one run. */
export class LiveRecorder {
  readonly #now: () => number
  readonly #startedAt: number
  readonly #slots = new Set<LiveSlot>()
  readonly #origins = new Map<string, Origin>()
  readonly #latencies = emptyHistogram()
  readonly #results = emptyResults()
  #ring: SecondRing
  #done = 0
  #peak = 0
  #slowest: WorkerLive['slowest'] = []
  #failures: LiveFailure[] = []

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
    this.#ring = emptyRing(this.#startedAt)
  }

  /** Starts recording an origin. */
  observe(origin: string, pacer: Pacer): RequestObserver {
    const at = this.#now()
    const entry: Origin = { pacer, requests: emptyRing(at), errors: emptyRing(at) }
    this.#origins.set(origin, entry)
    return { began: (url, attempt) => this.#began(entry, url, attempt) }
  }

  leave(origin: string): void {
    this.#origins.delete(origin)
  }

  /** Records that all variants of a URL are done. */
  done(url: string, failures: readonly Omit<LiveFailure, 'url' | 'at'>[]): void {
    const at = this.#now()
    this.#done++
    this.#ring = countInRing(this.#ring, at)
    this.#peak = Math.max(this.#peak, peakOf(this.#ring))
    const [failure] = failures
    if (failure)
      this.#failures = latestOf([
        ...this.#failures,
        { url, status: failure.status, error: failure.error, attempts: failure.attempts, at },
      ])
  }

  #began(origin: Origin, url: string, attempt: number): (result: WarmResult | null, final: boolean) => void {
    const since = this.#now()
    const slot: LiveSlot = { url, since, attempt }
    this.#slots.add(slot)
    return (result, final) => {
      this.#slots.delete(slot)
      if (result === null) return
      const at = this.#now()
      origin.requests = countInRing(origin.requests, at)
      const unusable =
        result.kind === 'failed' && (result.status === null || result.status === 429 || result.status >= 500)
      if (unusable) origin.errors = countInRing(origin.errors, at)
      if (final) this.#count(classOf(result))
      if (result.kind === 'fresh' || result.status === null) return
      this.#latencies[latencyBucket(result.ms)]!++
      this.#slowest = slowestOf([...this.#slowest, { url, ms: Math.round(result.ms), at }])
    }
  }

  #count({ kind, reason }: ResultClass): void {
    if (kind === 'fetched' || kind === 'fresh') return void this.#results[kind]++
    const counts = kind === 'failed' ? this.#results.failed : this.#results.notStored
    const known = counts[reason] !== undefined || Object.keys(counts).length < maxReasons
    const key = known ? reason : 'other'
    counts[key] = (counts[key] ?? 0) + 1
  }

  snapshot(vitals: Vitals, monotonicNow: number): WorkerLive {
    const at = this.#now()
    return {
      ...localProcess(),
      ...vitals(),
      startedAt: this.#startedAt,
      done: this.#done,
      peak: this.#peak,
      ring: advanceRing(this.#ring, at),
      latencies: this.#latencies,
      results: this.#results,
      slots: [...this.#slots].slice(0, maxSlots),
      slowest: this.#slowest,
      failures: this.#failures,
      origins: [...this.#origins].map(([origin, entry]) => toLiveOrigin(origin, entry, at, monotonicNow)),
    }
  }
}

function toLiveOrigin(
  origin: string,
  { pacer, requests, errors }: Origin,
  at: number,
  monotonicNow: number,
): LiveOrigin {
  const { pace } = pacer
  const sum = (ring: SecondRing) => advanceRing(ring, at).counts.reduce((total, count) => total + count, 0)
  const pausedFor = pace.notBefore - monotonicNow
  const until = pausedFor > 0 ? Math.round(at + pausedFor) : null
  const isThrottled = until !== null || pacer.limit < pacer.concurrency
  const reason = until !== null && pace.isRetryAfter ? 'retry-after' : isThrottled ? pace.reason : null
  return {
    origin,
    concurrency: pacer.inFlight,
    limit: pacer.limit,
    configured: pacer.concurrency,
    delay: Math.round(pacer.interval),
    throttled: reason === null ? null : { reason, until },
    latency: pace.present === null ? null : Math.round(pace.present),
    usualLatency: pace.usual === null ? null : Math.round(pace.usual),
    requests: sum(requests),
    errors: sum(errors),
  }
}
