/**
 * A histogram of latencies in milliseconds: bucket i holds what took at most `2 ^ (i / 4)`, so that every percentile is
 * right within a fifth, histograms of several workers are added, and four buckets make one doubling.
 */
export type Latencies = readonly number[]

const perDoubling = 4
const buckets = 16 * perDoubling + 1

export function noLatencies(): number[] {
  return Array.from({ length: buckets }, () => 0)
}

/** The bucket of one latency; what takes over 65 s is in the last one. */
export function latencyBucket(ms: number): number {
  return Math.min(buckets - 1, Math.max(0, Math.ceil(perDoubling * Math.log2(Math.max(ms, 1)))))
}

export function addLatencies(left: Latencies, right: Latencies): number[] {
  return left.map((count, index) => count + (right[index] ?? 0))
}

/** The upper bound of the bucket in which this share (0 to 1) of all is reached, in milliseconds; null without any. */
export function percentile(latencies: Latencies, share: number): number | null {
  const total = latencies.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const bucket = latencies.findIndex((count) => (seen += count) >= share * total && seen > 0)
  return Math.round(2 ** (bucket / perDoubling))
}

/** Whole doublings, for a small chart: how many took at most `upTo` milliseconds and longer than the one before. */
export function byDoubling(latencies: Latencies): { upTo: number; count: number }[] {
  return Array.from({ length: (buckets - 1) / perDoubling + 1 }, (_, doubling) => ({
    upTo: 2 ** doubling,
    count: latencies
      .slice(Math.max(0, (doubling - 1) * perDoubling + 1), doubling * perDoubling + 1)
      .reduce((sum, count) => sum + count, 0),
  }))
}
