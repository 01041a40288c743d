import { LRUCache } from 'lru-cache'
import type { Clock } from '../lib/clock.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'

/** A rate limit per key, as a token bucket. */
export interface RateLimit {
  /** Takes a token. @returns false if the limit is reached @param now monotonic milliseconds */
  take(key: string, now: number): boolean
}

/** A rate limit that also accounts for other processes. */
interface TokenBuckets extends RateLimit {
  /** Subtracts tokens taken in other processes; the balance may become negative. */
  spend(key: string, count: number, now: number): void
}

/** Burst size in seconds of the rate: a page may have several stages, and a school one address. */
const burst = 10
/** Keys kept in memory; the least recently used one is evicted and starts again with a full bucket. */
const maxKeys = 20_000
/** Milliseconds between two messages that tell the other processes how many requests passed. */
const syncInterval = 50

/**
 * Opens a rate limit shared by all processes of a daemon.
 *
 * @param perSecond null: no limit
 * @param shared null if the daemon has a single process
 */
export function openRateLimit(
  name: string,
  perSecond: number | null,
  shared: SharedCounts | null,
  now: Clock,
): RateLimit {
  if (perSecond === null) return { take: () => true }
  const buckets = createTokenBuckets(perSecond)
  if (shared === null) return buckets
  const tell = shared.join(name, syncInterval, (key, count) => buckets.spend(key, count, now()))
  return {
    take(key, at) {
      const passes = buckets.take(key, at)
      if (passes) tell(key)
      return passes
    },
  }
}

/** Creates token buckets by key, in memory. */
function createTokenBuckets(perSecond: number): TokenBuckets {
  const most = Math.max(1, perSecond * burst)
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: maxKeys })
  const bucketOf = (key: string, now: number) => {
    const bucket = buckets.get(key) ?? { tokens: most, at: now }
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
    bucket.at = now
    buckets.set(key, bucket)
    return bucket
  }
  return {
    take(key, now) {
      const bucket = bucketOf(key, now)
      if (bucket.tokens < 1) return false
      bucket.tokens -= 1
      return true
    },
    spend(key, count, now) {
      const bucket = bucketOf(key, now)
      // Bounded, so that recovering takes no longer than refilling a whole burst.
      bucket.tokens = Math.max(-most, bucket.tokens - count)
    },
  }
}
