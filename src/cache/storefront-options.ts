import type { Standing } from '../cluster/lease.ts'
import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { PageStore } from '../pages/page-store.ts'
import { hiddenPaths, type BrowserCaching } from './browser.ts'
import { bypassCookiesFor, onlyPaths, pathBypass, pathsBelow, type BypassRules } from './bypass.ts'
import type { Channels } from './channels.ts'
import type { FetchOptions } from './fetch-options.ts'
import type { VariantRules } from './key.ts'
import type { ClassifyOptions } from './lookup.ts'
import type { SearchRules } from './no-vary-search.ts'
import type { OriginClient } from './origin.ts'
import { canonicaliser } from './target.ts'
import type { UnsafeMode } from './unsafe.ts'

export interface StorefrontCacheOptions extends Omit<
  FetchOptions,
  'store' | 'memory' | 'origin' | 'now' | 'fragmentsOf'
> {
  channels: Channels
  store: PageStore
  memory: MemoryTier
  origin: OriginClient
  now: Clock
  variants: VariantRules
  bypass: BypassRules
  emptyPaths: readonly string[]
  assets: readonly string[]
  browser: BrowserCaching
  ignoreQuery: readonly string[]
  invalidateOnUnsafe: UnsafeMode
  /** How many processes of the daemon serve visitors. */
  processes: number
  /** Whether pages may be served now, by the lease of this process; missing with one machine. */
  standing?: () => Standing
  /** Path prefixes of fragments, relative to the channel's URL. */
  esiPaths: readonly string[]
  /** Reports background errors that no visitor sees. */
  onError(message: string, error: unknown): void
}

/** How requests are classified under these options. */
export function toClassifyOptions(options: StorefrontCacheOptions, search: SearchRules): ClassifyOptions {
  return {
    channels: options.channels,
    canonical: canonicaliser(options.ignoreQuery),
    variants: options.variants,
    confirmations: options.confirmations,
    bypassCookies: bypassCookiesFor(options.variants, options.bypass),
    bypassPath: pathBypass(options.bypass.paths),
    emptyPath: onlyPaths(options.emptyPaths),
    assetPath: pathsBelow(options.assets),
    hiddenPath: hiddenPaths(options),
    search,
  }
}
