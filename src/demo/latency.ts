import { createRandom } from './random.ts'

/** What the shop does for a request, which decides how long the response takes. */
export type RequestKind = 'products' | 'categories' | 'listings' | 'cms' | 'buybox' | 'session' | 'sitemap' | 'file'

/** Minimum and maximum milliseconds, as in a medium-sized shop without a page cache. */
const spans: Readonly<Record<RequestKind, readonly [number, number]>> = {
  products: [60, 180],
  categories: [120, 300],
  listings: [120, 300],
  cms: [40, 90],
  buybox: [30, 80],
  session: [50, 140],
  sitemap: [5, 20],
  file: [0, 0],
}

/** Concurrent requests that the shop handles without slowing down. */
const capacity = 8

/**
 * Makes a generator of response times in milliseconds: lognormal within the range of the kind of request, plus 6 % for each request in
 * flight beyond the shop's capacity.
 */
export function createLatency(seed: string): (kind: RequestKind, inFlight: number) => number {
  const random = createRandom(seed)
  return (kind, inFlight) => {
    const [least, most] = spans[kind]
    if (most === 0) return 0
    const median = Math.sqrt(least * most)
    const spread = Math.log(most / least) / 4
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const drawn = Math.min(most, Math.max(least, median * Math.exp(spread * normal)))
    return drawn * (1 + 0.06 * Math.max(0, inFlight - capacity))
  }
}
