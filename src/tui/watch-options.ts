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

/** The feeds at exit, and the error that ended the session (null: none). */
export interface Watched {
  feeds: Feeds
  fault: unknown
}
