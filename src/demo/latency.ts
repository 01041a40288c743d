import { createRandom } from './random.ts'

/** What a shop's answer costs: its pages by kind, its files, its forms. */
export type Work = 'products' | 'categories' | 'listings' | 'cms' | 'buybox' | 'session' | 'sitemap' | 'file'

/** Milliseconds, least and most, as a shop of middling size takes without a page cache. */
const spans: Readonly<Record<Work, readonly [number, number]>> = {
  products: [60, 180],
  categories: [120, 300],
  listings: [120, 300],
  cms: [40, 90],
  buybox: [30, 80],
  session: [50, 140],
  sitemap: [5, 20],
  file: [0, 0],
}

/** So many requests the shop works on without getting slower. */
const comfortable = 8

/**
 * Draws the time that an answer takes, in milliseconds: lognormal within the span, then stretched
 * by 6 % for each request in flight beyond what the shop bears easily.
 */
export function createLatency(seed: string): (work: Work, inFlight: number) => number {
  const random = createRandom(seed)
  return (work, inFlight) => {
    const [least, most] = spans[work]
    if (most === 0) return 0
    const median = Math.sqrt(least * most)
    const spread = Math.log(most / least) / 4
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const drawn = Math.min(most, Math.max(least, median * Math.exp(spread * normal)))
    return drawn * (1 + 0.06 * Math.max(0, inFlight - comfortable))
  }
}
