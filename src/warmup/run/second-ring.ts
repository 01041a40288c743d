/** How much was done in each of the last 60 seconds, oldest first; the last one is still filling. */
export interface SecondRing {
  /** The second since the epoch of the last count. */
  second: number
  counts: readonly number[]
}

const length = 60
/** The rate of now is that of so many whole seconds. */
const nowSeconds = 5

export function emptyRing(now: number): SecondRing {
  return { second: toSecond(now), counts: Array.from({ length }, () => 0) }
}

/** The same ring as seen at a later time (milliseconds since the epoch): what is older than a minute has left it. */
export function turned(ring: SecondRing, now: number): SecondRing {
  const second = Math.max(ring.second, toSecond(now))
  const gone = Math.min(length, second - ring.second)
  return { second, counts: [...ring.counts.slice(gone), ...Array.from({ length: gone }, () => 0)] }
}

export function counted(ring: SecondRing, now: number, done = 1): SecondRing {
  const { second, counts } = turned(ring, now)
  return { second, counts: [...counts.slice(0, -1), counts.at(-1)! + done] }
}

export function addRings(rings: readonly SecondRing[], now: number): SecondRing {
  return rings.reduce((sum, ring) => {
    const other = turned(ring, now)
    return { second: sum.second, counts: sum.counts.map((count, index) => count + other.counts[index]!) }
  }, emptyRing(now))
}

/** Done in a second, over the last whole seconds. */
export function rateNow({ counts }: SecondRing): number {
  return counts.slice(-1 - nowSeconds, -1).reduce((sum, count) => sum + count, 0) / nowSeconds
}

/** The best whole second. */
export function peakOf({ counts }: SecondRing): number {
  return Math.max(...counts.slice(0, -1))
}

/** A few seconds smooth the noise of single pages, and a minute has a dozen of them. */
const window = 5

export interface Eta {
  seconds: number
  /** If it went on as in the best, and as in the worst, of the last seconds in which anything was done. */
  low: number
  high: number
}

/**
 * When so many more will be done, with the range that the last minute allows; null where nothing was done in it.
 *
 * @param average the rate since the beginning, which counts where the minute is not full
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
  // A pause of the origin is no rate: the estimate is for a shop that answers.
  const worst = Math.min(rate, ...rates.filter((each) => each > 0))
  return { seconds, low: Math.ceil(remaining / best), high: Math.ceil(remaining / worst) }
}

function toSecond(now: number): number {
  return Math.floor(now / 1000)
}
