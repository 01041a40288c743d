/** What became of a request, for the metrics and the access log. */
export const results = ['hit', 'stale', 'miss', 'pass', 'purge', 'stage', 'own', 'refused'] as const
export type Result = (typeof results)[number]

/** Upper bounds in seconds: hits take microseconds, shops seconds. */
export const durationBounds = [
  0.000_05, 0.000_1, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const

/** How long requests of one result took. Not cumulative: `buckets[n]` are those up to bound n that are over the one before. */
export interface Durations {
  count: number
  /** Seconds. */
  sum: number
  buckets: Float64Array
}

/**
 * What this process answered since its start. A hit adds to five numbers here and nothing else: what reads them
 * (src/http/api/metrics.ts) does the rest when it is asked.
 */
export class Traffic {
  /** By status. */
  readonly statuses = new Float64Array(600)
  readonly durations: Readonly<Record<Result, Durations>>

  constructor() {
    const empty = (): Durations => ({ count: 0, sum: 0, buckets: new Float64Array(durationBounds.length + 1) })
    this.durations = Object.fromEntries(results.map((result) => [result, empty()])) as Record<Result, Durations>
  }

  /** @param status 0: there was no answer; @param ms until it began */
  count(result: Result, status: number, ms: number): void {
    const durations = this.durations[result]
    const seconds = ms / 1000
    durations.count += 1
    durations.sum += seconds
    let bucket = 0
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket += 1
    durations.buckets[bucket]! += 1
    if (status > 0 && status < 600) this.statuses[status]! += 1
  }
}

/** What `Cache-Status` says of an answer of the proxy, in one word. */
export function resultOf(cacheStatus: string | null): Result {
  if (cacheStatus === null) return 'refused'
  if (cacheStatus.includes('; hit')) return cacheStatus.includes('detail="stale') ? 'stale' : 'hit'
  return /; fwd=(?:bypass|method)/.test(cacheStatus) ? 'pass' : 'miss'
}
