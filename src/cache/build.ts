import type { SharedPages } from '../cluster/shared/shared-pages.ts'
import type { Clock } from '../lib/clock.ts'
import type { Standing } from '../cluster/lease.ts'
import { LedgerFile } from '../pages/ledger-file.ts'
import { MemoryTier } from '../pages/memory-tier.ts'
import type { PageStore } from '../pages/page-store.ts'
import { defaultTypeRules, typeResolver, type TypeRule } from '../pages/type.ts'
import type { BrowserCaching } from './browser.ts'
import type { BypassRules } from './bypass.ts'
import { toChannel, type ChannelOptions } from './channel.ts'
import { Channels } from './channels.ts'
import { Confirmations } from './confirmations.ts'
import { toVariantRules, type VariantSettings } from './key.ts'
import { OriginClient, type OriginTimeouts } from './origin.ts'
import type { SlotLimits } from './origin/slots.ts'
import { StorefrontCache } from './storefront-cache.ts'
import { marketingParameters, shopwareParameters } from './ignored-parameters.ts'
import type { UnsafeMode } from './unsafe.ts'

/** Settings of the storefront cache: sizes in bytes, times in milliseconds. */
export interface CacheSettings {
  channels: readonly ChannelOptions[]
  /** Other hosts of the daemon's own address, each mapped to the host that it stands for. */
  aliases: ReadonlyMap<string, string>
  /** Hosts of the daemon's own address (see `Channels`). */
  ownHosts?: ReadonlySet<string>
  store: PageStore
  /** The pages of other nodes. */
  shared?: SharedPages | null
  now: Clock
  memory: number
  /** The most variants of one page in memory. */
  maxVariants?: number
  compression: boolean
  maxPageSize: number
  defaultTtl: number
  types: readonly TypeRule[]
  variants: VariantSettings
  /** The file of confirmed variants; null keeps them in memory. */
  confirmedFile?: string | null
  bypass: BypassRules
  /** Paths answered with 204 for visitors without a session of Shopware. */
  emptyPaths?: readonly string[]
  /** Path prefixes below which cookies have no meaning. */
  assets?: readonly string[]
  browser?: BrowserCaching
  /** How long a page may be served stale. */
  grace?: number
  /** Parameters in addition to the common ones; `shopware` stands for the list of its own. */
  ignoreQuery: readonly string[]
  /** Whether the shop may send ESI markup; default `off`. */
  esi?: 'off' | 'auto'
  /** Path prefixes of fragments, relative to the channel's URL. */
  esiPaths?: readonly string[]
  /** What a successful unsafe request invalidates; default `rfc`. */
  invalidateOnUnsafe?: UnsafeMode
  /** How many processes of the daemon serve visitors; default 1. */
  processes?: number
  /** Whether pages may be served now; missing with one machine, where they always may. */
  standing?: () => Standing
  timeouts: OriginTimeouts
  /** How many requests an origin gets at a time; default: any number. */
  limits?: SlotLimits
  onError(message: string, error: unknown): void
}

/** Interval at which hits counted in memory are written to the store, in milliseconds. */
const hitInterval = 2000

/** Builds the cache with its memory tier and its origin connections; `close` releases all of them. */
export async function buildCache(
  settings: CacheSettings,
): Promise<{ cache: StorefrontCache; memory: MemoryTier; close(): Promise<void> }> {
  const memory = new MemoryTier(settings.memory, settings.maxVariants)
  const { store } = settings
  store.onRemoved((selection) => memory.drop(selection))
  store.onRenewed((keys) => memory.dropKeys(keys))
  const ledger = new LedgerFile(settings.confirmedFile ?? null, settings.now)
  const origin = new OriginClient(settings.timeouts, settings.limits)
  const variants = toVariantRules(settings.variants)
  const cache = new StorefrontCache({
    ...settings,
    shared: settings.shared ?? null,
    invalidateOnUnsafe: settings.invalidateOnUnsafe ?? 'rfc',
    processes: settings.processes ?? 1,
    emptyPaths: settings.emptyPaths ?? [],
    assets: settings.assets ?? [],
    browser: settings.browser ?? 'pass',
    grace: (settings.grace ?? 0) / 1000,
    variants,
    esi: settings.esi ?? 'off',
    esiPaths: settings.esiPaths ?? [],
    channels: new Channels(settings.channels.map(toChannel), settings.aliases, settings.ownHosts),
    memory,
    origin,
    confirmations: new Confirmations(variants, ledger, settings.now),
    defaultTtl: settings.defaultTtl / 1000,
    typeOf: typeResolver([...settings.types, ...defaultTypeRules]),
    ignoreQuery: [
      ...marketingParameters,
      ...settings.ignoreQuery.flatMap((name) => (name === 'shopware' ? shopwareParameters : [name])),
    ],
  })
  const timer = setInterval(() => store.recordHits(memory.takeHits()), hitInterval)
  timer.unref()
  return {
    cache,
    memory,
    close: async () => {
      clearInterval(timer)
      store.recordHits(memory.takeHits())
      origin.close()
      ledger.close()
    },
  }
}
