import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../app.ts'
import { Failures } from '../auth/failures.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import type { ChannelOptions } from '../cache/channel.ts'
import { createStageCounts } from '../stages/counts.ts'
import { createFront, type Front } from '../http/front/front.ts'
import type { FrontOptions } from '../http/front/front-options.ts'
import type { Inlet } from './inlet.ts'
import { describePlace, freePort, listenAt, stopListening, type Place } from './listen.ts'
import type { Log } from './log.ts'
import { openMetrics, type MetricValues } from '../http/api/metrics.ts'
import { InUse } from './in-use.ts'
import { openSite, type Site, type SiteOptions } from './site.ts'
import { Traffic } from '../http/front/traffic.ts'

export interface DaemonOptions {
  /** The public address, for the URLs of the one channel of `serve --origin`; port 0: any free one. */
  host: string
  port: number
  /** Null: on that address. */
  place: Exclude<Place, { kind: 'tcp' }> | null
  single: SiteOptions['single']
  log: Log
  /** What the other processes of this daemon have to tell; null where there are none. */
  gather: (() => Promise<MetricValues[]>) | null
  /** Connections that another process accepts; null where this one listens itself. */
  inlet: Inlet | null
  /** What the other processes of this daemon have counted; null where there are none. */
  shared: SharedCounts | null
}

export interface Daemon {
  /** Where it listens. */
  url: string
  channels(): readonly ChannelOptions[]
  /** The metrics of this process. */
  metricValues(): Promise<MetricValues>
  /** Answers with another configuration from now on; what was begun is finished with the old one. The old app is handed back when nothing uses it any more. */
  exchange(app: App): Promise<{ unused: Promise<App> }>
  /**
   * Says that it is not ready any more and goes on for `delay` milliseconds, so that who asks `/readyz` sends nothing more (where another
   * process accepts the connections, until that one has handed over the last); then takes no more connections, finishes the requests in
   * hand within `grace` and cuts the rest. Resolves to how many connections were cut.
   */
  stop(delay: number, grace: number): Promise<number>
}

/**
 * Starts the daemon.
 *
 * @throws LISTEN_FAILED when the address is taken or not ours
 */
export async function startDaemon(app: App, options: DaemonOptions): Promise<Daemon> {
  const { host, log, place, inlet, shared } = options
  let ready = false
  const traffic = new Traffic()
  const counts = createStageCounts()
  // The public URL of a single channel names the port, so that it has to be known before anything listens.
  const port = options.port === 0 && place === null ? await freePort(host) : options.port
  const at: Place = place ?? { kind: 'tcp', host, port }
  const metrics = openLater(() =>
    openMetrics({
      app: () => site.app,
      traffic,
      stages: counts,
      memory: () => ({ bytes: site.memory.bytes, pages: site.memory.count }),
      unsafe: () => site.front.cache.unsafe,
    }),
  )
  const siteOptions: SiteOptions = {
    host,
    port,
    single: options.single,
    trustsNameless: at.kind === 'unix',
    counts,
    shared,
    failures: new Failures(() => performance.now(), shared),
    isReady: () => ready,
    metrics: async () => {
      const { values, toText } = await metrics()
      return toText(options.gather === null ? [await values()] : await options.gather())
    },
    onError: log.error,
    onPerformed: (operation, actor) => log.info(`${operation} was performed for ${actor}`),
  }
  let site: Site = await openSite(app, siteOptions)
  let use = new InUse()
  const answering: FrontOptions = {
    ...site.front,
    traffic,
    accessLog: log.access,
    begin: () => use.begin(),
    onError: log.error,
  }
  const front = createFront(answering)
  if (inlet === null) await listenAt(front.server, at)
  else inlet.open(front.server)
  ready = true
  return {
    url: describePlace(at),
    channels: () => site.channels,
    metricValues: async () => (await metrics()).values(),
    exchange: async (next) => {
      const [before, inUse] = [site, use]
      site = await openSite(next, siteOptions)
      use = new InUse()
      Object.assign(answering, site.front)
      return { unused: inUse.over().then(() => before.app) }
    },
    stop: async (delay, grace) => {
      ready = false
      front.drain()
      await (inlet === null ? pause(delay).then(() => stopListening(front.server)) : inlet.closed)
      return await close(front, grace)
    },
  }
}

/** How often connections that have become idle are closed at the end, in milliseconds. */
const idleLook = 50

/** No connection comes any more; resolves when the last has ended. */
async function close(front: Front, grace: number): Promise<number> {
  const ended = front.connections.ended()
  front.closeIdle()
  // A kept-alive connection whose last answer has ended only now would be waited for until somebody else closes it.
  const idle = setInterval(() => front.closeIdle(), idleLook)
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

function openLater<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null
  return () => (opened ??= open())
}
