import type { PageType } from '../pages/page.ts'
import type { EntityType } from './entities.ts'

/** Where a request came from, as the invalidation log records it. */
export type InvalidationSource = 'api' | 'cli' | 'purge-method' | 'task'

/** The pages to invalidate. URLs are canonical (src/cache/purge-urls.ts); a pattern matches path and query on any channel. */
export type Target =
  /** `value`: what else was cleared with the pages. */
  | { scope: 'all'; value?: 'application-cache' }
  | { scope: 'type'; type: PageType }
  | { scope: 'urls'; urls: readonly string[] }
  | { scope: 'tags'; tags: readonly string[] }
  | { scope: 'entity'; type: EntityType; id: string; number: string | null }
  | { scope: 'pattern'; pattern: string }

/** One request to invalidate pages, from any source. */
export interface Invalidation {
  targets: readonly Target[]
  /** Marks the pages as stale instead of removing them. */
  soft: boolean
  /** Removes the pages even if the purge budget would mark them as stale. */
  hard?: boolean
  source: InvalidationSource
  /** An API client's id, a purger's address or a task's name; null for the command line. */
  actor: string | null
  /** Clears the whole application cache directory with the pages; only for the scope `all`. */
  wholeDirectory?: boolean
}

/** A tag that is on too many pages, so that the purge budget made its purge soft. */
export interface Softened {
  tag: string
  pages: number
  /** Of all pages, from 0 to 1. */
  share: number
}

/** What a node removed. */
export interface NodeShare {
  name: string
  pagesRemoved: number
}

/** The result of an invalidation. */
export interface Invalidated {
  invalidationId: string
  /** Pages removed from the caches of all nodes, counting each variant, or marked as stale by a soft purge. */
  pagesRemoved: number
  /** Tags that the purge budget purged softly. */
  softened: Softened[]
  /** The pages that each node removed, with several machines; `pagesRemoved` is their sum. */
  nodes?: NodeShare[]
  /** Nodes that had no lease and may still serve pages from before, for `cluster.alone` at most; missing for none. */
  unconfirmed?: string[]
}
