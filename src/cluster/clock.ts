import type { PageDraft } from '../pages/page.ts'

/** What decides whether a purge selects a page. */
export type Purgeable = Pick<PageDraft, 'url' | 'type' | 'tags'>

/**
 * The purge clock as the cache sees it. Purges of all nodes are numbered in one order; the clock of a node is the number up to which it
 * has applied them.
 */
export interface PurgeClock {
  /**
   * The number to keep with a page whose fetch begins now: the answer of the shop reflects this purge and all before it. Null while this
   * node has no lease, when a fetched page must not be shared.
   */
  now(): number | null
  /**
   * Whether a page that another node has fetched at a clock value may be served here: no purge since then selects it. Call it after the
   * request has arrived. False too where purges since then are no longer known, or this node has no lease.
   */
  admits(fetchedAt: number, page: Purgeable): Promise<boolean>
}
