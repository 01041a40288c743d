import type { App } from '../app.ts'
import { lowerHelperThreads } from '../lib/priority.ts'
import { collectYoungAlone, limitOldGeneration, limitYoungGeneration } from '../lib/steady-heap.ts'
import { startWorkers, type Workers } from '../workers/workers.ts'
import { createStageCounts } from '../stages/counts.ts'
import { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
import { openMetrics, type Metrics, type MetricValues } from '../http/api/metrics.ts'
import { watchRecords } from './records-watch.ts'
import { notReloaded, warnNotReloaded, type Reloaded } from './reloaded.ts'
import { Traffic } from '../traffic/traffic.ts'

export interface ProcessOptions extends DaemonOptions {
  /** Opens an app with the current configuration. @throws CONFIG_INVALID */
  reopen(): Promise<App>
  /** Whether this process answers requests. */
  serves: boolean
  /** Whether this process consumes the queue. */
  works: boolean
}

/** A process of the daemon, alone or one of several. */
export class ServeProcess {
  readonly #options: ProcessOptions
  readonly #daemon: Daemon | null
  #app: App
  #workers: Workers | null
  #reloading: Promise<unknown> = Promise.resolve()
  #stopping = false
  readonly #unwatch: () => void
  /** The metrics of a process that answers no requests. */
  #metrics: Promise<Metrics> | null = null
  /** Apps of earlier configurations that still have active requests. */
  readonly #retiring = new Set<Promise<void>>()

  private constructor(options: ProcessOptions, app: App, daemon: Daemon | null) {
    this.#options = options
    this.#app = app
    this.#daemon = daemon
    this.#workers = this.#startWorkers(app)
    this.#unwatch = watchRecords(() => this.#app, options.log)
  }

  /** @throws LISTEN_FAILED */
  static async start(app: App, options: ProcessOptions): Promise<ServeProcess> {
    limitYoungGeneration()
    limitOldGeneration()
    collectYoungAlone()
    if (options.serves) await lowerHelperThreads()
    const daemon = options.serves ? await startDaemon(app, options) : null
    return new ServeProcess(options, app, daemon)
  }

  get daemon(): Daemon | null {
    return this.#daemon
  }

  /** The metrics of this process. */
  async metricValues(): Promise<MetricValues> {
    if (this.#daemon !== null) return this.#daemon.metricValues()
    this.#metrics ??= openMetrics({
      app: () => this.#app,
      traffic: new Traffic(),
      stages: createStageCounts(),
      memory: () => ({ bytes: 0, pages: 0 }),
    })
    return (await this.#metrics).values()
  }

  /** Loads the current configuration; an invalid one changes nothing. Reloads run one at a time, and not while stopping. */
  async reload(): Promise<Reloaded> {
    if (this.#stopping) return notReloaded('the daemon is stopping')
    const reloaded = this.#reloading.then(() => this.#reload())
    this.#reloading = reloaded
    return reloaded
  }

  async #reload(): Promise<Reloaded> {
    const { log, reopen } = this.#options
    let next: App | null = null
    try {
      // Opening an app now would create new, empty records in place of the lost ones.
      const lost = this.#app.recordsFault()
      if (lost !== null) throw lost
      next = await reopen()
      const replaced = await this.#daemon?.replaceApp(next)
      const [previous, workers] = [this.#app, this.#workers]
      this.#app = next
      this.#workers = this.#startWorkers(next)
      // Stopped earlier, they would leave a moment without a worker, of which commands warn.
      const stopped = this.#workers?.joined.then(() => workers?.stop())
      const retiring = Promise.all([replaced?.unused, stopped])
        .then(() => previous.close())
        .catch((error: unknown) => log.error('Could not close the previous configuration', error))
        .then(() => void this.#retiring.delete(retiring))
      this.#retiring.add(retiring)
      log.info('The configuration was reloaded.')
      if (needsRestart(previous, next)) log.warn('Changes to server and log take effect at the next start.')
      return { loaded: next.loaded, error: null }
    } catch (error) {
      await next?.close()
      return warnNotReloaded(log, (error as Error).message)
    }
  }

  #startWorkers(app: App): Workers | null {
    return this.#options.works ? startWorkers(app, { onWarning: (message) => this.#options.log.warn(message) }) : null
  }

  /** Stops the daemon (see `Daemon.stop`) and finishes the queue messages in progress. */
  async stop(): Promise<void> {
    const { log } = this.#options
    this.#stopping = true
    await this.#reloading
    const { stopDelay, stopGrace } = this.#app.config.server
    const [cut] = await Promise.all([this.#daemon?.stop(stopDelay, stopGrace) ?? 0, this.#workers?.stop()])
    if (cut > 0) log.warn(`${cut} connections were cut because they did not finish within ${stopGrace / 1000} s.`)
    this.#unwatch()
    await this.#app.close()
    // Requests of earlier configurations have ended or were cut above.
    await Promise.all(this.#retiring)
  }
}

/** Whether two configurations differ in settings that only apply at the start. `server.names` applies at a reload. */
function needsRestart(one: App, other: App): boolean {
  const startOf = ({ config }: App) => JSON.stringify([{ ...config.server, names: [] }, config.log])
  return startOf(one) !== startOf(other)
}
