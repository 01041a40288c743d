import { dayLength } from '../lib/moment.ts'

const week = 7 * dayLength

/** Hits of a page, and the microseconds that they took together. */
interface Hits {
  hits: number
  hitUs: number
}

/**
 * The hits that a page keeps when it is renewed: half of them for each week that has begun since its last fetch. Pages that were popular once
 * then rank below those that are popular now, and pages renewed at different intervals stay comparable (docs/decisions/0125-decaying-hits.md).
 * Fetches in milliseconds since the epoch.
 */
export function decayedHits({ hits, hitUs }: Hits, fetchedBefore: number, fetchedNow: number): Hits {
  const weeks = Math.floor(fetchedNow / week) - Math.floor(fetchedBefore / week)
  // A clock that was put back decays nothing.
  const share = 2 ** -Math.max(0, weeks)
  const kept = Math.floor(hits * share)
  // The average of the hits stays what it was.
  return { hits: kept, hitUs: hits === 0 ? 0 : Math.round((hitUs * kept) / hits) }
}
