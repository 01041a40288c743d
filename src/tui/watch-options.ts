import type { Feeds } from './poller.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'

export interface WatchOptions {
  source: Source
  tabs: readonly Tab[]
  /** What `q` does now, in a few words. */
  leaving(feeds: Feeds): string
  /** Leaves by itself when the run has ended. */
  untilEnd: boolean
  signal: AbortSignal
}

/** What was known when the screen was left, and what broke it; null where nothing did. */
export interface Watched {
  feeds: Feeds
  fault: unknown
}
