import type { App } from '../app.ts'
import { startWorkers, type Workers } from '../workers/workers.ts'
import { createStageCounts } from '../stages/counts.ts'
import { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
import { openMetrics, type Metrics, type MetricValues } from '../http/api/metrics.ts'
import { watchRecords } from './records-watch.ts'
import { Traffic } from '../http/front/traffic.ts'

export interface ProcessOptions extends DaemonOptions {
  /** Opens an app with the configuration as it is now. @throws CONFIG_INVALID */
  reopen(): Promise<App>
  /** Whether this process answers requests, and whether it works on the queue. */
  serves: boolean
  works: boolean
}

/** One process of the daemon: alone, or among others. */
export class ServeProcess {
  readonly #options: ProcessOptions
  readonly #daemon: Daemon | null
  #app: App
  #workers: Workers | null
  #reloading: Promise<void> = Promise.resolve()
  #stopping = false
  readonly #unwatch: () => void
  /** Of a process that answers no requests. */
  #metrics: Promise<Metrics> | null = null
  /** Apps of earlier configurations that are still used. */
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
    const daemon = options.serves ? await startDaemon(app, options) : null
    return new ServeProcess(options, app, daemon)
  }

  get daemon(): Daemon | null {
    return this.#daemon
  }

  /** What this process has to tell: of requests, where it answers any, and of itself. */
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

  /** Takes up the configuration as it is now; a faulty one changes nothing. One reload after the other, and none for one that is ending. */
  reload(): Promise<void> {
    if (this.#stopping) return Promise.resolve()
    this.#reloading = this.#reloading.then(() => this.#reload())
    return this.#reloading
  }

  async #reload(): Promise<void> {
    const { log, reopen } = this.#options
    let next: App | null = null
    try {
      // The connection to files that are lost is all that keeps others from being made in their place.
      const lost = await this.#app.recordsFault()
      if (lost !== null) throw lost
      next = await reopen()
      const exchanged = await this.#daemon?.exchange(next)
      const [before, workers] = [this.#app, this.#workers]
      this.#app = next
      this.#workers = this.#startWorkers(next)
      const retiring = Promise.all([exchanged?.unused, workers?.stop()])
        .then(() => before.close())
        .catch((error: unknown) => log.error('the configuration before could not be closed', error))
        .then(() => void this.#retiring.delete(retiring))
      this.#retiring.add(retiring)
      log.info('The configuration was reloaded.')
      if (!sameStart(before, next)) log.warn('What server and log say takes effect at the next start.')
    } catch (error) {
      await next?.close()
      log.warn(
        `The configuration was not reloaded, and the one before stays: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  #startWorkers(app: App): Workers | null {
    return this.#options.works ? startWorkers(app, { onWarning: (message) => this.#options.log.warn(message) }) : null
  }

  /** See `Daemon.stop`; the messages in hand are finished too. */
  async stop(): Promise<void> {
    const { log } = this.#options
    this.#stopping = true
    await this.#reloading
    const { stopDelay, stopGrace } = this.#app.config.server
    const [cut] = await Promise.all([this.#daemon?.stop(stopDelay, stopGrace) ?? 0, this.#workers?.stop()])
    if (cut > 0) log.warn(`${cut} connections were cut that were not done after ${stopGrace / 1000} s.`)
    this.#unwatch()
    await this.#app.close()
    // What still answers with an earlier configuration was cut with the rest.
    await Promise.all(this.#retiring)
  }
}

/** Whether two configurations would start the same processes on the same port. The names are read with the rest of a site. */
function sameStart(one: App, other: App): boolean {
  const startOf = ({ config }: App) => JSON.stringify([{ ...config.server, names: [] }, config.log])
  return startOf(one) === startOf(other)
}
