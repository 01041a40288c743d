/** The results of a request, for the metrics and the access log. */
export const results = ['hit', 'stale', 'miss', 'pass', 'purge', 'stage', 'own', 'refused'] as const
export type Result = (typeof results)[number]

/** Upper bounds of the duration buckets, in seconds: from hits in microseconds to slow shops. */
export const durationBounds = [
  0.000_05, 0.000_1, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const

/** A histogram of the durations of one result. Not cumulative: `buckets[n]` counts those between bound n-1 and bound n. */
export interface Durations {
  count: number
  /** Seconds. */
  sum: number
  buckets: Float64Array
}

/**
 * Request counters of this process since its start. Cheap to update: a hit changes five numbers. src/http/api/metrics.ts turns them into
 * metrics on demand.
 */
export class Traffic {
  /** Number of answers by status. */
  readonly statuses = new Float64Array(600)
  readonly durations: Readonly<Record<Result, Durations>>

  constructor() {
    const empty = (): Durations => ({ count: 0, sum: 0, buckets: new Float64Array(durationBounds.length + 1) })
    this.durations = Object.fromEntries(results.map((result) => [result, empty()])) as Record<Result, Durations>
  }

  /**
   * Counts a request.
   *
   * @param status 0: there was no answer
   * @param ms milliseconds until the answer began
   */
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

/** Derives the result from the `Cache-Status` of an answer. */
export function resultOf(cacheStatus: string | null): Result {
  if (cacheStatus === null) return 'refused'
  if (cacheStatus.includes('; hit')) return cacheStatus.includes('detail="stale') ? 'stale' : 'hit'
  return /; fwd=(?:bypass|method)/.test(cacheStatus) ? 'pass' : 'miss'
}
