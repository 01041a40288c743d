import type { Feeds } from './poller.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'

export interface WatchOptions {
  source: Source
  tabs: readonly Tab[]
  /** Hint for `q`. */
  leaving(feeds: Feeds): string
  /** Quits when the run ends. */
  untilEnd: boolean
  signal: AbortSignal
}

/** The feeds at the end of a session, and the error that ended it (null: none). */
export interface SessionEnd {
  feeds: Feeds
  error: unknown
}
