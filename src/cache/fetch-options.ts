import type { PurgeTime } from '../cluster/clock.ts'
import type { SharedPages } from '../cluster/shared/shared-pages.ts'
import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Fence, PageStore } from '../pages/page-store.ts'
import type { Confirmations } from './confirmations.ts'
import type { DraftOptions } from './draft.ts'
import type { Fetched } from './fetched.ts'
import type { Sent } from './forward.ts'
import type { Lookup } from './lookup.ts'
import type { OriginClient } from './origin.ts'
import type { Slot } from './origin/slots.ts'
import type { Waiters } from './waiters.ts'

/** The context of one request to the origin. */
export interface OriginFetch extends Sent {
  lookup: Lookup
  fence: Fence
  /** The purge clock when the fetch began; null when other nodes must not get the page. */
  clock: PurgeTime | null
  /** In terms of `performance.now`. */
  started: number
  /** True for a warmup, which waits until the page is stored; a visitor gets it before. */
  patient: boolean
  /** See `FetchTerms`. */
  outlasts: boolean
  /** Fetches the page again without ESI markup; null when the shop was not told that it may use it. */
  withoutMarkup: (() => Promise<Fetched>) | null
  /** Fetches the page again without content coding; null when the shop was not asked for one. */
  withoutCoding: (() => Promise<Fetched>) | null
}

/** A fetch of a warmup. */
export interface Warming {
  signal: AbortSignal
  /** Its place among the requests to the shop; null to take one as a visitor does. */
  slot: Slot | null
  /** Whether the shop is asked even if another node has the page. */
  force: boolean
}

/** What a fetch is made for. */
export interface FetchTerms {
  fence: Fence
  /** Set for a warmup. */
  warming?: Warming | undefined
  /** Null for a warmup. A fetch that was sent to the shop continues without them: the page is for everyone. */
  waiters: Waiters | null
  /** Whether a stale page may replace errors of the shop, which then must not replace it. */
  outlasts: boolean
}

export interface FetchOptions extends DraftOptions {
  store: PageStore
  memory: MemoryTier
  /** The pages of other nodes; null for a single node. */
  shared: SharedPages | null
  origin: OriginClient
  now: Clock
  confirmations: Confirmations
  compression: boolean
  /** In bytes. Larger bodies are streamed and not stored. */
  maxPageSize: number
  /** Whether the shop may send pages with ESI markup. */
  esi: 'off' | 'auto'
  /** The URLs of the fragments that a template includes. */
  fragmentsOf(lookup: Lookup, template: Buffer): Promise<string[]>
}
