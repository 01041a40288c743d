import { LRUCache } from 'lru-cache'
import type { Clock } from '../lib/clock.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'

/** Lets so many through a second, and a burst of so many seconds' worth at once. */
export interface RateLimit {
  /** Whether one more may pass now; takes it into account. `now` is milliseconds of a clock that only goes forward. */
  take(key: string, now: number): boolean
}

/** A rate limit that is also told what passed elsewhere. */
interface TokenBuckets extends RateLimit {
  /** So many have passed elsewhere. What was more than the limit lets through is owed. */
  spend(key: string, count: number, now: number): void
}

/** Seconds' worth that may come at once: a page with several stages, a school behind one address. */
const burst = 10
/** Keys that are remembered; whoever was not seen for longest is forgotten first, with a full allowance. */
const mostKeys = 20_000
/** Milliseconds until the other processes are told what one has let through, in one message. */
const telling = 50

/** A limit for all processes of a daemon; `shared` null: there is one. `perSecond` null: everything passes. */
export function openRateLimit(
  name: string,
  perSecond: number | null,
  shared: SharedCounts | null,
  now: Clock,
): RateLimit {
  if (perSecond === null) return { take: () => true }
  const buckets = createTokenBuckets(perSecond)
  if (shared === null) return buckets
  const tell = shared.join(name, telling, (key, count) => buckets.spend(key, count, now()))
  return {
    take(key, at) {
      const passes = buckets.take(key, at)
      if (passes) tell(key)
      return passes
    },
  }
}

/** A token bucket for each key, in memory alone. */
function createTokenBuckets(perSecond: number): TokenBuckets {
  const most = Math.max(1, perSecond * burst)
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: mostKeys })
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
      // Never so much that it takes longer to come back than a whole burst does.
      bucket.tokens = Math.max(-most, bucket.tokens - count)
    },
  }
}
