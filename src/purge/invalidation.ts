import type { PageType } from '../pages/page.ts'
import type { EntityType } from './entities.ts'

/** Where a request came from, as the invalidation log records it. */
export type InvalidationSource = 'api' | 'cli' | 'purge-method' | 'task'

/** What is to be dropped. URLs are canonical (src/cache/purge-urls.ts); a pattern is over path and query, on any channel. */
export type Target =
  /** `value`: what was cleared with the pages; without it the pages alone. */
  | { scope: 'all'; value?: 'application-cache' }
  | { scope: 'type'; type: PageType }
  | { scope: 'urls'; urls: readonly string[] }
  | { scope: 'tags'; tags: readonly string[] }
  | { scope: 'entity'; type: EntityType; id: string; number: string | null }
  | { scope: 'pattern'; pattern: string }

/** One request to drop pages, from anywhere. */
export interface Invalidation {
  targets: readonly Target[]
  /** Marks the pages as stale instead of removing them. */
  soft: boolean
  source: InvalidationSource
  /** Who asked: an API client's id, the address of a purger, a task's name; null for the command line. */
  actor: string | null
  /** Clears, with all pages, whatever else lies in the application cache directory; only for the scope `all`. */
  wholeDirectory?: boolean
}

/** What came of it. */
export interface Invalidated {
  invalidationId: string
  /** Pages (files, variants counted) that went here; with `soft` those that are stale now. */
  pagesRemoved: number
}
