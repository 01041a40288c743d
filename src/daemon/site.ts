import type { App } from '../app.ts'
import { PagecacheError, type ErrorCode } from '../errors.ts'
import type { Failures } from '../auth/failures.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Target } from '../purge/invalidation.ts'
import type { StageCounts } from '../stages/counts.ts'
import type { FrontOptions } from '../http/front/front-options.ts'
import { isIn, networks } from '../lib/networks.ts'
import { knownHosts } from '../cache/own-hosts.ts'
import { createApi } from '../http/api/app.ts'
import type { ApiOptions } from '../http/api/options.ts'
import { createErrorPage } from '../http/front/error-page.ts'
import { PurgeMethods, type PurgeMethodsOptions } from '../http/purge/methods.ts'
import type { PurgeOrder } from '../http/purge/order.ts'
import { stageEndpoints } from '../http/stages/endpoints.ts'
import { debuggingOf } from './debugging.ts'

type StageOptions = Parameters<typeof stageEndpoints>[0]

/** The parts that a reload does not change. */
export interface SiteOptions extends Pick<ApiOptions, 'isReady' | 'metrics' | 'onError' | 'onPerformed'> {
  /** The public address of the daemon. */
  host: string
  port: number
  /** Whether to trust peers without an address: those on a Unix socket, which its file mode protects. */
  trustsNameless: boolean
  counts: StageCounts
  /** Failed logins, which a reload must not reset. */
  failures: Failures
  /** Counts shared by the processes of the daemon; null in a single process. */
  shared: SharedCounts | null
}

/** The parts that answer requests, built from one configuration. */
export interface Site {
  app: App
  memory: MemoryTier
  front: Pick<FrontOptions, 'cache' | 'purges' | 'answerOwn' | 'stages' | 'isTrusted' | 'errorPage' | 'debugging'>
  /** Ends the streams of events, which have no end of their own. */
  retire(): void
}

/** Builds a site. Serves pages even where the signing key or the records cannot be opened; the errors are logged. */
export async function openSite(app: App, options: SiteOptions): Promise<Site> {
  const { config } = app
  const { host, onError } = options
  const errorPage = createErrorPage(app.loaded.errorPage ?? null)
  app.useThreads(onError)
  app.node?.listensAt(options)
  const { cache, memory } = await app.storefrontCache({ host, port: options.port, processes: config.server.processes })
  const isTrusted = trustOf(app, options)
  const { channels: known } = cache.classifying
  const stages = await openStages(app, known, isTrusted, options)
  const authority = () => app.authority(options.failures)
  const shopJudge = () => app.shopAuthority(known, options.failures)
  const retirement = new AbortController()
  const answerOwn = createApi({
    ...options,
    app,
    retired: retirement.signal,
    isTrusted,
    authority,
    shopJudge,
    shop: known.all[0] ?? null,
    isKnownHost: knownHosts([host, ...known.all.map((channel) => channel.host), ...config.server.names]),
    stages,
  })
  const purges = purgeMethods(app, { ...cache.classifying, isTrusted }, onError)
  await openRecords(app, authority, onError)
  const debugging = debuggingOf(app, cache, config.auth.mode === 'shop' ? shopJudge : authority)
  const front = { cache, purges, answerOwn, stages, isTrusted, errorPage, debugging }
  return { app, memory, front, retire: () => retirement.abort() }
}

async function openStages(
  app: App,
  channels: StageOptions['channels'],
  isTrusted: FrontOptions['isTrusted'],
  { counts, shared, onError }: SiteOptions,
): Promise<ReturnType<typeof stageEndpoints>> {
  const tracker = await app.tracker()
  const customerTokens = await app.customerTokens()
  return stageEndpoints({
    ...app.config.stages,
    customerTokens,
    channels,
    tracker,
    previewed: async (token) => {
      const { openPreviews } = await import('../auth/previews.ts')
      return (await openPreviews(app)).read(token)
    },
    counts,
    shared,
    isTrusted,
    now: app.now,
    onError,
  })
}

/**
 * Opens what needs the records. Their errors are logged, except for a PostgreSQL database that this version must not use: the operator who
 * starts a new version has to learn of it.
 *
 * @throws STORE_OLDER, STORE_NEWER, STORE_FOREIGN for a PostgreSQL database
 */
async function openRecords(
  app: App,
  authority: () => Promise<unknown>,
  onError: SiteOptions['onError'],
): Promise<void> {
  const { records, auth } = app.config
  const report = (message: string) => (error: unknown) => {
    const isRefused = error instanceof PagecacheError && refusals.includes(error.code)
    if (records.url !== null && isRefused) throw error
    onError(message, error)
  }
  // Creates the signing key if there is none yet.
  if (auth.mode === 'builtin') await authority().catch(report('Could not open the API clients, so none can log in'))
  // Completes the purges that a killed process had begun, before the first visitor arrives.
  await app.purges().catch((error: unknown) => {
    report('Could not open the purge log, so purges are refused')(error)
    if (records.url !== null) reopenPurges(app)
  })
}

const refusals: readonly ErrorCode[] = ['STORE_OLDER', 'STORE_NEWER', 'STORE_FOREIGN']

/** How often the purges are opened again, in milliseconds. */
const reopenInterval = 1000

/** With several machines a process serves no pages before it knows the purges of the others. */
function reopenPurges(app: App): void {
  const timer = setInterval(() => void app.purges().then(stop, () => {}), reopenInterval)
  const stop = () => clearInterval(timer)
  timer.unref()
  app.onClose(stop)
  // Closing the background parts may take long.
  app.signal.addEventListener('abort', stop, { once: true })
}

function trustOf({ config }: App, { trustsNameless }: SiteOptions): FrontOptions['isTrusted'] {
  const trusted = networks(config.trustedProxies)
  // Usually empty, and a lookup costs more than the rest of dispatching a small request.
  const trustsSome = config.trustedProxies.length > 0
  return (address) => (address === undefined ? trustsNameless : trustsSome && isIn(trusted, address))
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
      return purges.invalidate({
        targets: [toTarget(order)],
        soft: order.kind === 'tags' && order.soft,
        hard: order.kind === 'tags' && order.hard === true,
        source: 'purge-method',
        actor: address,
      })
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
