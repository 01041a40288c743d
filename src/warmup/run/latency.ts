/**
 * A histogram of latencies in milliseconds. Bucket i counts latencies up to `2 ^ (i / 4)`: percentiles are accurate within a fifth,
 * histograms of several workers can be added, and four buckets span one doubling.
 */
export type LatencyHistogram = readonly number[]

const perDoubling = 4
const buckets = 16 * perDoubling + 1

export function emptyHistogram(): number[] {
  return Array.from({ length: buckets }, () => 0)
}

/** The bucket of a latency; everything over 65 s is in the last one. */
export function latencyBucket(ms: number): number {
  return Math.min(buckets - 1, Math.max(0, Math.ceil(perDoubling * Math.log2(Math.max(ms, 1)))))
}

export function addHistograms(left: LatencyHistogram, right: LatencyHistogram): number[] {
  return left.map((count, index) => count + (right[index] ?? 0))
}

/** The upper bound, in milliseconds, of the bucket that reaches this share (0 to 1) of all latencies; null if there are none. */
export function percentile(latencies: LatencyHistogram, share: number): number | null {
  const total = latencies.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const bucket = latencies.findIndex((count) => (seen += count) >= share * total && seen > 0)
  return Math.round(2 ** (bucket / perDoubling))
}

/** The histogram in whole doublings, for a small chart: latencies up to `upTo` milliseconds and above the previous bucket's. */
export function byDoubling(latencies: LatencyHistogram): { upTo: number; count: number }[] {
  return Array.from({ length: (buckets - 1) / perDoubling + 1 }, (_, doubling) => ({
    upTo: 2 ** doubling,
    count: latencies
      .slice(Math.max(0, (doubling - 1) * perDoubling + 1), doubling * perDoubling + 1)
      .reduce((sum, count) => sum + count, 0),
  }))
}
