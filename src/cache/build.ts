import type { Clock } from '../lib/clock.ts'
import { LedgerFile } from '../pages/ledger-file.ts'
import { MemoryTier } from '../pages/memory-tier.ts'
import type { PageStore } from '../pages/page-store.ts'
import { defaultTypeRules, typeResolver, type TypeRule } from '../pages/type.ts'
import type { BypassRules } from './bypass.ts'
import { Channels, toChannel, type ChannelOptions } from './channel.ts'
import { Confirmations } from './confirmations.ts'
import type { VariantRules } from './key.ts'
import { OriginClient, type OriginTimeouts } from './origin.ts'
import { Proxy } from './proxy.ts'
import { marketingParameters } from './target.ts'
import type { UnsafeMode } from './unsafe.ts'

/** The proxy as the configuration describes it: sizes in bytes, times in milliseconds. */
export interface ProxySettings {
  channels: readonly ChannelOptions[]
  /** Other names of the daemon's own address, each with the host that it stands for. */
  aliases: ReadonlyMap<string, string>
  /** Hosts of the daemon's own address, as `Channels` takes them. */
  ownHosts?: ReadonlySet<string>
  store: PageStore
  now: Clock
  memory: number
  /** Of one page, in memory. */
  maxVariants?: number
  compression: boolean
  maxPageSize: number
  defaultTtl: number
  types: readonly TypeRule[]
  variants: VariantRules
  /** The file in which confirmed variants are remembered; null: in memory. */
  confirmedFile?: string | null
  bypass: BypassRules
  ignoreQuery: readonly string[]
  /** What a successful unsafe request drops; `rfc` where nothing is said. */
  invalidateOnUnsafe?: UnsafeMode
  timeouts: OriginTimeouts
  onFault(message: string, error: unknown): void
}

/** How often the store is told of the hits that were counted in memory, in milliseconds. */
const hitInterval = 2000

/** Builds a proxy with its memory tier and its connections to the shops; `close` ends all of it. */
export async function buildProxy(
  settings: ProxySettings,
): Promise<{ proxy: Proxy; memory: MemoryTier; close(): Promise<void> }> {
  const memory = new MemoryTier(settings.memory, settings.maxVariants)
  const { store } = settings
  store.onRemoved((selection) => memory.drop(selection))
  store.onRenewed((keys) => memory.dropKeys(keys))
  const ledger = new LedgerFile(settings.confirmedFile ?? null, settings.now)
  const origin = await OriginClient.open(settings.timeouts)
  const proxy = new Proxy({
    ...settings,
    invalidateOnUnsafe: settings.invalidateOnUnsafe ?? 'rfc',
    channels: new Channels(settings.channels.map(toChannel), settings.aliases, settings.ownHosts),
    memory,
    origin,
    confirmations: new Confirmations(settings.variants, ledger, settings.now),
    defaultTtl: settings.defaultTtl / 1000,
    typeOf: typeResolver([...settings.types, ...defaultTypeRules]),
    ignoreQuery: [...marketingParameters, ...settings.ignoreQuery],
  })
  const timer = setInterval(() => store.recordHits(memory.takeHits()), hitInterval)
  timer.unref()
  return {
    proxy,
    memory,
    close: async () => {
      clearInterval(timer)
      store.recordHits(memory.takeHits())
      await origin.close()
      ledger.close()
    },
  }
}
