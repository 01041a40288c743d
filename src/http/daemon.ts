import { BlockList, createServer, isIPv6, type AddressInfo, type Server } from 'node:net'
import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import type { ChannelOptions } from '../proxy/channel.ts'
import type { Target } from '../purge/invalidation.ts'
import { createStageCounts } from '../stages/counts.ts'
import { adminPage } from './admin.ts'
import { createFront, type FrontOptions } from './front.ts'
import { ownEndpoints } from './own.ts'
import { PurgeMethods, type PurgeMethodsOptions } from './purge-methods.ts'
import type { PurgeOrder } from './purge-order.ts'
import { stageEndpoints } from './stages.ts'

export interface DaemonOptions {
  host: string
  /** 0: any free port. */
  port: number
  /** The shop of `serve --origin`, and its public URL where it is not the daemon's own; null: the configured channels. */
  single: { origin: string; url: string | null } | null
  onError(message: string, error: unknown): void
}

export interface Daemon {
  /** Where it listens. */
  url: string
  channels: readonly ChannelOptions[]
  /** Takes no more connections, finishes the requests in hand within the grace (milliseconds), then cuts. */
  stop(grace: number): Promise<void>
}

/** The id of the one channel that `serve --origin` makes: always the same, so that its pages are found again. */
const singleChannel = '00000000-0000-7000-8000-000000000001'

/**
 * Starts the daemon.
 *
 * @throws LISTEN_FAILED when the address is taken or not ours
 */
export async function startDaemon(app: App, options: DaemonOptions): Promise<Daemon> {
  let ready = false
  const { config } = app
  // The public URL of a single channel names the port, so that it has to be known before anything listens.
  const port = options.port === 0 ? await freePort(options.host) : options.port
  const ownUrl = `http://${bracketed(options.host)}:${port}`
  const channels = options.single === null ? config.salesChannels : [{ id: singleChannel, name: 'Storefront', url: options.single.url ?? ownUrl, origin: options.single.origin }]
  const { proxy } = await app.proxy({ channels, aliases: options.single === null ? new Map() : aliasesOf(options.host, port) })
  const trusted = networks(config.trustedProxies)
  const isTrusted = (address: string | undefined) => isIn(trusted, address)
  const tracker = await app.tracker(channels)
  const stages = stageEndpoints({ ...config.stages, channels: proxy.classifying.channels, tracker, counts: createStageCounts(), isTrusted, now: app.now, onError: options.onError })
  const { channels: known } = proxy.classifying
  const admin = adminPage({ isOurs: isAdminHost(options.host, port, known.all), onError: options.onError })
  const api = ownEndpoints({ app, isReady: () => ready, isTrusted, shopJudge: () => app.shopAuthority(known), shop: known.all[0] ?? null, onError: options.onError })
  // The signing key is made now; where that is not possible, the pages are served all the same.
  if (config.auth.mode === 'builtin') await app.authority().catch((error: unknown) => options.onError('no API client can log in', error))
  const purges = purgeMethods(app, proxy.classifying, options.onError)
  const own: FrontOptions['own'] = (request, response, pass) => api(request, response, pass) || admin(request, response)
  const front = createFront({ proxy, purges, own, stages, isTrusted, onError: options.onError })
  // What a killed process has intended to purge is gone before the first visitor comes; where that cannot be known now, the pages are served all the same.
  await app.purges().catch((error: unknown) => options.onError('purges cannot be recorded', error))
  await listen(front.server, options.host, port)
  ready = true
  return {
    url: ownUrl,
    channels,
    stop: async grace => {
      ready = false
      const closed = new Promise<void>(resolve => front.server.close(() => resolve()))
      front.closeIdle()
      front.server.closeIdleConnections()
      const timer = setTimeout(() => front.cut(), grace)
      await closed
      clearTimeout(timer)
    },
  }
}

function purgeMethods(app: App, site: Pick<PurgeMethodsOptions, 'channels' | 'canonical'>, onError: DaemonOptions['onError']): PurgeMethods {
  const purgers = networks(app.config.purgers)
  return new PurgeMethods({
    channels: site.channels,
    canonical: site.canonical,
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

/** An IPv4 address that came over an IPv6 socket is the IPv4 address (RFC 4291 §2.5.5.2). */
function isIn(list: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
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
  const names = new Set([`${bracketed(host)}:${port}`, ...aliasesOf(host, port).keys()])
  const shops = new Set(channels.map(channel => new URL(channel.url).host))
  return asked => names.has(asked.toLowerCase()) || !shops.has(asked.toLowerCase())
}

async function freePort(host: string): Promise<number> {
  const server = createServer()
  await listen(server, host, 0)
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const hint = error.code === 'EADDRINUSE' ? 'Another program listens there: stop it, or choose another port with --port or server.port.' : 'Choose an address of this machine with --host or server.host.'
      reject(new PagecacheError('LISTEN_FAILED', `Cannot listen on ${bracketed(host)}:${port}: ${error.code ?? error.message}`, { hint, cause: error }))
    })
    server.listen(port, host, () => resolve())
  })
}

/** Addresses and networks, as they stand in the configuration. */
function networks(list: readonly string[]): BlockList {
  const blocks = new BlockList()
  for (const entry of list) {
    const [address, prefix] = entry.split('/')
    const family = isIPv6(address!) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) blocks.addAddress(address!, family)
    else blocks.addSubnet(address!, Number(prefix), family)
  }
  return blocks
}
