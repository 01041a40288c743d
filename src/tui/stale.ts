import { staleFor, type Feed } from './feed.ts'
import { shortSpan } from './text/amount.ts'

/** The badge of a feed that had no answer for three seconds; null while its value is current. */
export function staleness(feed: Feed | undefined, now: number): string | null {
  if (!feed) return null
  const age = staleFor(feed, now)
  if (age === null) return null
  const why = feed.error ?? (feed.at === null ? 'no response yet' : 'no response')
  return `STALE ${shortSpan(age / 1000)}: ${why}`
}

/** The badge of the first stale feed; null if none is stale. */
export function stalest(feeds: readonly (Feed | undefined)[], now: number): string | null {
  return feeds.map((feed) => staleness(feed, now)).find((stale) => stale !== null) ?? null
}
