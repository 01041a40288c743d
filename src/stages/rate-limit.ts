/** Lets so many through a second, and a burst of so many seconds' worth at once. */
export interface RateLimit {
  /** Whether one more may pass now; takes it into account. `now` is milliseconds of a clock that only goes forward. */
  take(key: string, now: number): boolean
}

/** Seconds' worth that may come at once: a page with several stages, a school behind one address. */
const burst = 10
/** Keys that are remembered; whoever was not seen for longest is forgotten first, with a full allowance. */
const mostKeys = 20_000

/** A token bucket for each key, in memory alone. `perSecond` null: everything passes. */
export function createRateLimit(perSecond: number | null): RateLimit {
  if (perSecond === null) return { take: () => true }
  const most = Math.max(1, perSecond * burst)
  const buckets = new Map<string, { tokens: number; at: number }>()
  return {
    take(key, now) {
      const known = buckets.get(key)
      const bucket = known ?? { tokens: most, at: now }
      bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
      bucket.at = now
      buckets.delete(key)
      buckets.set(key, bucket)
      if (buckets.size > mostKeys) buckets.delete(buckets.keys().next().value!)
      if (bucket.tokens < 1) return false
      bucket.tokens -= 1
      return true
    },
  }
}
