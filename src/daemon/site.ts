import type { App } from '../app.ts'
import type { Failures } from '../auth/failures.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { ChannelOptions } from '../cache/channel.ts'
import type { Target } from '../purge/invalidation.ts'
import type { StageCounts } from '../stages/counts.ts'
import type { FrontOptions } from '../http/front/front-options.ts'
import { isIn, networks } from '../lib/networks.ts'
import { knownHosts, ownHosts, ownUrl } from '../cache/own-hosts.ts'
import { createApi } from '../http/api/app.ts'
import type { ApiOptions } from '../http/api/options.ts'
import { PurgeMethods, type PurgeMethodsOptions } from '../http/purge/methods.ts'
import type { PurgeOrder } from '../http/purge/order.ts'
import { stageEndpoints } from '../http/stages/endpoints.ts'

/** What is the same before and after a reload. */
export interface SiteOptions extends Pick<ApiOptions, 'isReady' | 'metrics' | 'onError' | 'onPerformed'> {
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
  front: Pick<FrontOptions, 'proxy' | 'purges' | 'answerOwn' | 'stages' | 'isTrusted'>
}

/** The id of the one channel that `serve --origin` makes: always the same, so that its pages are found again. */
const singleChannel = '00000000-0000-7000-8000-000000000001'

export async function openSite(app: App, options: SiteOptions): Promise<Site> {
  const { config } = app
  const { host, port, single, onError } = options
  const channels =
    single === null
      ? config.salesChannels
      : [{ id: singleChannel, name: 'Storefront', url: single.url ?? ownUrl(host, port), origin: single.origin }]
  const own = ownHosts(host, port)
  const ownHost = new URL(ownUrl(host, port)).host
  const aliases = single === null ? new Map<string, string>() : new Map([...own].map((name) => [name, ownHost]))
  const { proxy, memory } = await app.proxy({ channels, aliases, ownHosts: own })
  const trusted = networks(config.trustedProxies)
  // A look into a list costs more than the rest of a small request's way to us, and mostly there is none.
  const trustsSome = config.trustedProxies.length > 0
  const isTrusted = (address: string | undefined) =>
    address === undefined ? options.trustsNameless : trustsSome && isIn(trusted, address)
  const tracker = await app.tracker(channels)
  const { channels: known } = proxy.classifying
  const customerTokens = await app.customerTokens()
  const stages = stageEndpoints({
    ...config.stages,
    customerTokens,
    channels: known,
    tracker,
    counts: options.counts,
    shared: options.shared,
    isTrusted,
    now: app.now,
    onError,
  })
  const authority = () => app.authority(options.failures)
  const answerOwn = createApi({
    ...options,
    app,
    isTrusted,
    authority,
    shopJudge: () => app.shopAuthority(known, options.failures),
    shop: known.all[0] ?? null,
    isKnownHost: knownHosts([host, ...known.all.map((channel) => channel.host), ...config.server.names]),
    stages,
  })
  // The signing key is made now; where that is not possible, the pages are served all the same.
  if (config.auth.mode === 'builtin')
    await authority().catch((error: unknown) => onError('no API client can log in', error))
  app.purgeInThread(onError)
  const purges = purgeMethods(app, { ...proxy.classifying, isTrusted }, onError)
  // What a killed process has intended to purge is gone before the first visitor comes; where that cannot be known now, the pages are served all the same.
  await app.purges().catch((error: unknown) => onError('purges cannot be recorded', error))
  return { app, channels, memory, front: { proxy, purges, answerOwn, stages, isTrusted } }
}

function purgeMethods(
  app: App,
  site: Pick<PurgeMethodsOptions, 'channels' | 'canonical' | 'isTrusted'>,
  onError: SiteOptions['onError'],
): PurgeMethods {
  const purgers = networks(app.config.purgers)
  return new PurgeMethods({
    channels: site.channels,
    canonical: site.canonical,
    isTrusted: site.isTrusted,
    softPurge: app.config.purge.softPurge,
    isPurger: (address) => isIn(purgers, address),
    purge: async (order, address) => {
      const purges = await app.purges()
      const { pagesRemoved } = await purges.invalidate({
        targets: [toTarget(order)],
        soft: order.kind === 'tags' && order.soft,
        source: 'purge-method',
        actor: address,
      })
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
