import { bracketed } from '../lib/networks.ts'
import type { LoadedConfig } from './load.ts'
import type { Source } from './raw.ts'

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
