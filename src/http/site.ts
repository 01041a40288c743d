import type { App } from '../app.ts'
import type { Failures } from '../auth/failures.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { ChannelOptions } from '../proxy/channel.ts'
import type { Target } from '../purge/invalidation.ts'
import type { StageCounts } from '../stages/counts.ts'
import { adminPage } from './admin.ts'
import type { FrontOptions } from './front.ts'
import { bracketed, isIn, networks } from '../lib/networks.ts'
import { ownEndpoints, type OwnOptions } from './own.ts'
import { PurgeMethods, type PurgeMethodsOptions } from './purge-methods.ts'
import type { PurgeOrder } from './purge-order.ts'
import { stageEndpoints } from './stages.ts'

/** What is the same before and after a reload. */
export interface SiteOptions extends Pick<OwnOptions, 'isReady' | 'metrics' | 'onError' | 'onPerformed'> {
  /** The public address of the daemon. */
  host: string
  port: number
  /** The shop of `serve --origin`, and its public URL where it is not the daemon's own; null: the configured channels. */
  single: { origin: string; url: string | null } | null
  /** Whoever can open our Unix socket is as trusted as its file's mode says; such peers have no address. */
  trustsNameless: boolean
  counts: StageCounts
  /** Failed logins; they are not forgiven because of a reload. */
  failures: Failures
  /** What the processes of this daemon count together; null where there is one. */
  shared: SharedCounts | null
}

/** What answers requests, made from one configuration. */
export interface Site {
  app: App
  channels: readonly ChannelOptions[]
  memory: MemoryTier
  front: Pick<FrontOptions, 'proxy' | 'purges' | 'own' | 'stages' | 'isTrusted'>
}

/** The id of the one channel that `serve --origin` makes: always the same, so that its pages are found again. */
const singleChannel = '00000000-0000-7000-8000-000000000001'

export async function openSite(app: App, options: SiteOptions): Promise<Site> {
  const { config } = app
  const { host, port, single, onError } = options
  const channels = single === null ? config.salesChannels : [{ id: singleChannel, name: 'Storefront', url: single.url ?? ownUrl(host, port), origin: single.origin }]
  const { proxy, memory } = await app.proxy({ channels, aliases: single === null ? new Map() : aliasesOf(host, port) })
  const trusted = networks(config.trustedProxies)
  // A look into a list costs more than the rest of a small request's way to us, and mostly there is none.
  const trustsSome = config.trustedProxies.length > 0
  const isTrusted = (address: string | undefined) => (address === undefined ? options.trustsNameless : trustsSome && isIn(trusted, address))
  const tracker = await app.tracker(channels)
  const { channels: known } = proxy.classifying
  const customerTokens = await app.customerTokens()
  const stages = stageEndpoints({ ...config.stages, customerTokens, channels: known, tracker, counts: options.counts, shared: options.shared, isTrusted, now: app.now, onError })
  const admin = adminPage({ isOurs: isAdminHost(host, port, known.all), onError })
  const authority = () => app.authority(options.failures)
  const api = ownEndpoints({ ...options, app, isTrusted, authority, shopJudge: () => app.shopAuthority(known, options.failures), shop: known.all[0] ?? null })
  const own: FrontOptions['own'] = (request, response, pass) => api(request, response, pass) || admin(request, response)
  // The signing key is made now; where that is not possible, the pages are served all the same.
  if (config.auth.mode === 'builtin') await authority().catch((error: unknown) => onError('no API client can log in', error))
  app.purgeInThread(onError)
  const purges = purgeMethods(app, { ...proxy.classifying, isTrusted }, onError)
  // What a killed process has intended to purge is gone before the first visitor comes; where that cannot be known now, the pages are served all the same.
  await app.purges().catch((error: unknown) => onError('purges cannot be recorded', error))
  return { app, channels, memory, front: { proxy, purges, own, stages, isTrusted } }
}

export function ownUrl(host: string, port: number): string {
  return `http://${bracketed(host)}:${port}`
}

/** The names by which one reaches a daemon on this machine: all of them are its single channel. */
function aliasesOf(host: string, port: number): Map<string, string> {
  const suffix = port === 80 ? '' : `:${port}`
  return new Map(['127.0.0.1', 'localhost', '[::1]'].map(name => [`${name}${suffix}`, `${bracketed(host)}${suffix}`]))
}

/**
 * `/admin` is the operators' page under the daemon's own address and under names that are no sales channel's; under a
 * channel's public URL it is the shop's, whose administration is there.
 */
function isAdminHost(host: string, port: number, channels: readonly Pick<ChannelOptions, 'url'>[]): (host: string) => boolean {
  const names = new Set([new URL(ownUrl(host, port)).host, ...aliasesOf(host, port).keys()])
  const shops = new Set(channels.map(channel => new URL(channel.url).host))
  return asked => names.has(asked) || !shops.has(asked)
}

function purgeMethods(app: App, site: Pick<PurgeMethodsOptions, 'channels' | 'canonical' | 'isTrusted'>, onError: SiteOptions['onError']): PurgeMethods {
  const purgers = networks(app.config.purgers)
  return new PurgeMethods({
    channels: site.channels,
    canonical: site.canonical,
    isTrusted: site.isTrusted,
    softPurge: app.config.purge.softPurge,
    isPurger: address => isIn(purgers, address),
    purge: async (order, address) => {
      const purges = await app.purges()
      const { pagesRemoved } = await purges.invalidate({ targets: [toTarget(order)], soft: order.kind === 'tags' && order.soft, source: 'purge-method', actor: address })
      return pagesRemoved
    },
    onError,
  })
}

function toTarget(order: PurgeOrder): Target {
  switch (order.kind) {
    case 'tags':
      return { scope: 'tags', tags: order.tags }
    case 'urls':
      return { scope: 'urls', urls: order.urls }
    case 'pattern':
      return { scope: 'pattern', pattern: order.pattern }
    case 'all':
      return { scope: 'all' }
  }
}
