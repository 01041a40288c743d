import { bracketed } from '../lib/networks.ts'
import type { LoadedConfig } from './load.ts'
import type { Source } from './raw.ts'
import type { SalesChannel } from './schema.ts'

/** The shop of `serve --origin`. */
export interface SingleShop {
  origin: string
  /** Its public URL. */
  url: string
}

/** The id of the only sales channel of `serve --origin`: constant, so that its pages are found again. */
export const singleChannelId = '00000000-0000-7000-8000-000000000001'

/** The URL of a daemon that listens at an address. */
export function ownUrl(host: string, port: number): string {
  return `http://${bracketed(host)}:${port}`
}

/** Replaces the configured sales channels by the shop of `serve --origin`. */
export function withSingleShop(loaded: LoadedConfig, shop: SingleShop, source: Source): LoadedConfig {
  const channel = { id: singleChannelId, name: 'Storefront', url: shop.url, origin: shop.origin, sitemaps: [] }
  return {
    ...loaded,
    config: { ...loaded.config, salesChannels: [channel] },
    sourceOf: (path) => (path[0] === 'salesChannels' ? source : loaded.sourceOf(path)),
  }
}

/** The names of this machine under which the shop of `serve --origin` is reached too, with the Host of the daemon's own URL. */
export function aliasesOf(
  [channel]: readonly SalesChannel[],
  own: ReadonlySet<string>,
  at: { host: string; port: number },
): Map<string, string> {
  if (channel?.id !== singleChannelId) return new Map()
  const ownHost = new URL(ownUrl(at.host, at.port)).host
  return new Map([...own].map((name) => [name, ownHost]))
}
