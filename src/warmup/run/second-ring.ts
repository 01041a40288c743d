/** A count for each of the last 60 seconds, oldest first; the last second is incomplete. */
export interface SecondRing {
  /** The second since the epoch of the last count. */
  second: number
  counts: readonly number[]
}

const length = 60
/** Complete seconds that the current rate is averaged over. */
const nowSeconds = 5

export function emptyRing(now: number): SecondRing {
  return { second: toSecond(now), counts: Array.from({ length }, () => 0) }
}

/** Moves a ring forward to a later time (milliseconds since the epoch), dropping counts older than a minute. */
export function advanceRing(ring: SecondRing, now: number): SecondRing {
  const second = Math.max(ring.second, toSecond(now))
  const gone = Math.min(length, second - ring.second)
  return { second, counts: [...ring.counts.slice(gone), ...Array.from({ length: gone }, () => 0)] }
}

export function countInRing(ring: SecondRing, now: number, done = 1): SecondRing {
  const { second, counts } = advanceRing(ring, now)
  return { second, counts: [...counts.slice(0, -1), counts.at(-1)! + done] }
}

export function addRings(rings: readonly SecondRing[], now: number): SecondRing {
  return rings.reduce((sum, ring) => {
    const other = advanceRing(ring, now)
    return { second: sum.second, counts: sum.counts.map((count, index) => count + other.counts[index]!) }
  }, emptyRing(now))
}

/** The current rate per second, over the last complete seconds. */
export function rateNow({ counts }: SecondRing): number {
  return counts.slice(-1 - nowSeconds, -1).reduce((sum, count) => sum + count, 0) / nowSeconds
}

/** The count of the best complete second. */
export function peakOf({ counts }: SecondRing): number {
  return Math.max(...counts.slice(0, -1))
}

/** Seconds per window: enough to smooth single pages, and a minute has a dozen windows. */
const window = 5

export interface Eta {
  seconds: number
  /** At the rate of the best window of the last minute. */
  low: number
  /** At the rate of the worst window in which anything was done. */
  high: number
}

/**
 * Estimates the seconds until `remaining` more are done, with a range from the last minute; null if the rate is 0.
 *
 * @param average rate since the start, used while there is less than one window of data
 */
export function etaOf(ring: SecondRing, remaining: number, average: number): Eta | null {
  if (remaining === 0) return { seconds: 0, low: 0, high: 0 }
  const whole = ring.counts.slice(0, -1)
  const first = whole.findIndex((count) => count > 0)
  const active = first < 0 ? [] : whole.slice(first)
  const total = active.reduce((sum, count) => sum + count, 0)
  const rate = active.length >= window ? total / active.length : average
  if (rate <= 0) return null
  const rates = Array.from({ length: Math.floor(active.length / window) }, (_, index) => {
    const part = active.slice(index * window, (index + 1) * window)
    return part.reduce((sum, count) => sum + count, 0) / window
  })
  const seconds = Math.ceil(remaining / rate)
  const best = Math.max(rate, ...rates)
  // Windows without any progress are pauses of the origin and would make the estimate infinite.
  const worst = Math.min(rate, ...rates.filter((each) => each > 0))
  return { seconds, low: Math.ceil(remaining / best), high: Math.ceil(remaining / worst) }
}

function toSecond(now: number): number {
  return Math.floor(now / 1000)
}
