import { staleFor, type Feed } from './feed.ts'
import { shortSpan } from './text/amount.ts'

/** Why what a feed says may be old, for the badge: no answer for three seconds. Null while it is news. */
export function staleness(feed: Feed | undefined, now: number): string | null {
  if (!feed) return null
  const age = staleFor(feed, now)
  if (age === null) return null
  const why = feed.error ?? (feed.at === null ? 'no answer yet' : 'no answer')
  return `STALE ${shortSpan(age / 1000)}: ${why}`
}

/** The first of several that is stale. */
export function stalest(feeds: readonly (Feed | undefined)[], now: number): string | null {
  return feeds.map((feed) => staleness(feed, now)).find((stale) => stale !== null) ?? null
}
