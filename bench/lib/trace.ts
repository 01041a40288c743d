import { random } from '../../test/helpers/random.ts'
import type { Policy } from './policies.ts'

/** Visitors who prefer some pages (Zipf), and a crawler that requests every page of a large shop once. */
export interface Trace {
  pages: number
  /** The n-th most popular page is requested in proportion to 1 ÷ n ^ skew. */
  skew: number
  visits: number
  /** New pages that the crawler requests, spread over the middle half of the visits. */
  crawled: number
}

/** The share of visits that a cache answers; the crawler's requests do not count. */
export function hitRatio(policy: Policy, { pages, skew, visits, crawled }: Trace): { all: number; crawl: number } {
  const choose = zipf(pages, skew)
  const hits = { all: 0, crawl: 0 }
  let next = 0
  for (let visit = 0; visit < visits; visit++) {
    const within = visit - visits / 4
    const duringCrawl = within >= 0 && within < visits / 2
    for (; duringCrawl && next < (within * crawled) / (visits / 2); next++) request(policy, pages + next)
    if (!request(policy, choose())) continue
    hits.all += 1
    if (duringCrawl) hits.crawl += 1
  }
  return { all: hits.all / visits, crawl: hits.crawl / (visits / 2) }
}

function request(policy: Policy, page: number): boolean {
  if (policy.has(page)) return true
  policy.add(page, sizeOf(page))
  return false
}

/** From 3 to 9 kB with their overhead, always the same for a page. */
function sizeOf(page: number): number {
  return 3_000 + ((Math.imul(page + 1, 0x9e3779b1) >>> 16) % 6_000)
}

/** Page numbers in proportion to their popularity, which has nothing to do with their order. */
function zipf(pages: number, skew: number): () => number {
  const sums = new Float64Array(pages)
  let sum = 0
  for (let n = 0; n < pages; n++) sums[n] = sum += (n + 1) ** -skew
  const next = random(42)
  return () => {
    const point = next() * sum
    let [low, high] = [0, pages - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! < point) low = middle + 1
      else high = middle
    }
    return low
  }
}
