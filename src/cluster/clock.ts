import type { PageDraft } from '../pages/page.ts'

/** What decides whether a purge selects a page. */
export type Purgeable = Pick<PageDraft, 'url' | 'type' | 'tags'>

/** A place in the order of purges. */
export interface PurgeTime {
  /** Identifies the database and its history: each history numbers purges independently (see `historyOf`). */
  history: number
  number: number
}

/**
 * The purge clock as the cache sees it. Purges of all nodes are numbered in one order; the clock of a node is the number up to which it
 * has applied them.
 */
export interface PurgeClock {
  /**
   * The time to keep with a page whose fetch begins now: the answer of the shop reflects this purge and all before it. Null while this
   * node has no lease, when a fetched page must not be shared.
   */
  now(): PurgeTime | null
  /**
   * Whether a page that another node has fetched at a time may be served and stored here: no purge since then selects it, nor one that is
   * under way. Call it after the request has arrived and after the fence was taken. False too where purges since then are no longer
   * known, or this node has no lease.
   *
   * @throws any error where the purges cannot be read in time
   */
  admits(fetchedAt: PurgeTime, page: Purgeable): Promise<boolean>
}
