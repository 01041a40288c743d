import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { BypassRules } from './bypass.ts'
import type { Channels } from './channels.ts'
import type { FetchOptions } from './fetch.ts'
import type { VariantRules } from './key.ts'
import type { OriginClient } from './origin.ts'
import type { UnsafeMode } from './unsafe.ts'

export interface StorefrontCacheOptions extends Omit<FetchOptions, 'store' | 'memory' | 'origin' | 'now'> {
  channels: Channels
  store: PageStore
  memory: MemoryTier
  origin: OriginClient
  now: Clock
  variants: VariantRules
  bypass: BypassRules
  ignoreQuery: readonly string[]
  invalidateOnUnsafe: UnsafeMode
  /** Reports background errors that no visitor sees. */
  onError(message: string, error: unknown): void
}
