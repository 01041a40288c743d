import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../app.ts'
import { Failures } from '../auth/failures.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import { createStageCounts } from '../stages/counts.ts'
import { createFront, type Front } from '../http/front/front.ts'
import type { FrontOptions } from '../http/front/front-options.ts'
import { Rejections } from '../http/front/proxied.ts'
import { ActiveRequests } from './active-requests.ts'
import type { ConnectionReceiver } from './connection-receiver.ts'
import { freePort, listenAt, stopListening, type ListenAddress } from './listen.ts'
import type { Log } from './log.ts'
import type { MetricsOptions } from '../http/api/metric.ts'
import { openMetrics, type Metrics, type MetricValues } from '../http/api/metrics.ts'
import { openSite, type Site, type SiteOptions } from './site.ts'
import { LiveServer } from '../traffic/live/serve-live.ts'
import { TrafficRecorder } from '../traffic/recorder.ts'
import { Traffic } from '../traffic/traffic.ts'

export interface DaemonOptions {
  /** The public address. Port 0: any free port. */
  host: string
  port: number
  /** The socket to listen on instead; null: `host` and `port`. */
  address: Exclude<ListenAddress, { kind: 'tcp' }> | null
  /** Whether each connection begins with a PROXY header. */
  proxyProtocol: boolean
  log: Log
  /** Collects the metrics of all processes of the daemon; null in a single process. */
  gather: (() => Promise<MetricValues[]>) | null
  /** Receives connections that the parent accepts; null if this process listens itself. */
  receiver: ConnectionReceiver | null
  /** Counts shared by the processes of the daemon; null in a single process. */
  shared: SharedCounts | null
}

export interface Daemon {
  /** What it listens on. */
  address: ListenAddress
  /** The metrics of this process. */
  metricValues(): Promise<MetricValues>
  /**
   * Answers further requests with another app. Active requests finish with the previous one; `unused` resolves to it once they have.
   */
  replaceApp(app: App): Promise<{ unused: Promise<App> }>
  /**
   * Reports not ready and keeps serving for `delay` milliseconds, so that load balancers notice (in a child process: until the parent has
   * sent the last connection). Then stops listening, gives active requests `grace` milliseconds to finish and cuts the remaining
   * connections. Resolves to the number of connections cut.
   */
  stop(delay: number, grace: number): Promise<number>
}

/**
 * Starts the daemon.
 *
 * @throws LISTEN_FAILED when the address is in use or not permitted
 */
export async function startDaemon(app: App, options: DaemonOptions): Promise<Daemon> {
  const { host, log, receiver } = options
  let ready = false
  const [traffic, counts, rejections] = [new Traffic(), createStageCounts(), new Rejections(log.warn)]
  // The public URL of a single channel contains the port, so the port must be known before the daemon listens.
  const port = options.port === 0 && options.address === null ? await freePort(host) : options.port
  const address: ListenAddress = options.address ?? { kind: 'tcp', host, port }
  const metrics = lazily(() => openMetricsOf(() => site, { traffic, stages: counts, rejections }))
  const siteOptions = toSiteOptions(options, { address, port, counts, metrics, isReady: () => ready })
  let site: Site = await openSite(app, siteOptions)
  let active = new ActiveRequests()
  const frontOptions: FrontOptions = {
    ...site.front,
    traffic,
    accessLog: log.access,
    begin: () => active.begin(),
    onError: log.error,
  }
  const front = createFront(frontOptions, options.proxyProtocol ? rejections : null)
  await (receiver === null ? listenAt(front.server, address) : receiver.open(front.server))
  const recording = await recordTraffic(traffic, () => site.app, log)
  ready = true
  return {
    address,
    metricValues: async () => (await metrics()).values(),
    replaceApp: async (next) => {
      const [previous, previousRequests] = [site, active]
      site = await openSite(next, siteOptions)
      recording.expect(next.config.salesChannels)
      active = new ActiveRequests()
      Object.assign(frontOptions, site.front)
      previous.retire()
      return { unused: previousRequests.finished().then(() => previous.app) }
    },
    stop: async (delay, grace) => {
      ready = false
      site.retire()
      front.drain()
      await (receiver === null ? pause(delay).then(() => stopListening(front.server)) : receiver.closed)
      return await close(front, grace).finally(() => recording.close())
    },
  }
}

function openMetricsOf(
  site: () => Site,
  counted: Pick<MetricsOptions, 'traffic' | 'stages' | 'rejections'>,
): Promise<Metrics> {
  return openMetrics({
    ...counted,
    app: () => site().app,
    memory: () => ({ bytes: site().memory.bytes, pages: site().memory.count }),
    unsafe: () => site().front.cache.unsafe,
    load: () => site().front.cache.origin,
  })
}

/** Writes the traffic of this process to the records of the current app, and shows it to watchers. */
async function recordTraffic(traffic: Traffic, app: () => App, log: Log) {
  const onError = log.error
  const recorder = new TrafficRecorder({
    traffic,
    records: () => app().records(),
    now: Date.now,
    monotonic: () => performance.now(),
    onError,
  })
    .expect(app().config.salesChannels)
    .start()
  const live = await LiveServer.open({ dataDir: app().loaded.places.dataDir, traffic, onError })
  return {
    expect: (channels: Parameters<TrafficRecorder['expect']>[0]) => recorder.expect(channels),
    close: () => Promise.all([recorder.close(), live.close()]),
  }
}

function toSiteOptions(
  { host, shared, gather, log }: DaemonOptions,
  {
    address,
    metrics,
    ...site
  }: Pick<SiteOptions, 'port' | 'counts' | 'isReady'> & { address: ListenAddress; metrics: () => Promise<Metrics> },
): SiteOptions {
  return {
    ...site,
    host,
    shared,
    trustsNameless: address.kind === 'unix',
    failures: new Failures(() => performance.now(), shared),
    metrics: async () => {
      const { values, toText } = await metrics()
      return toText(gather === null ? [await values()] : await gather())
    },
    onError: log.error,
    onPerformed: (operation, actor) => log.info(`${operation} was performed for ${actor}`),
  }
}

/** Milliseconds between two rounds of closing idle connections during shutdown. */
const idleInterval = 50

/** Waits until the last connection has closed, for at most `grace` milliseconds. Returns the number of connections cut. */
async function close(front: Front, grace: number): Promise<number> {
  const ended = front.connections.ended()
  front.closeIdle()
  // Repeated: connections whose last answer ends only now would otherwise stay open until the client closes them.
  const idle = setInterval(() => front.closeIdle(), idleInterval)
  let cut = 0
  const timer = setTimeout(() => {
    front.closeIdle(0)
    cut = front.connections.cut()
  }, grace)
  await ended
  clearInterval(idle)
  clearTimeout(timer)
  return cut
}

function lazily<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null
  return () => (opened ??= open())
}
