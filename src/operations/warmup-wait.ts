import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import type { Performer } from './operation.ts'
import {
  listWarmupFailures,
  pauseWarmup,
  readWarmupProgress,
  type WarmupFailures,
  type WarmupProgressRecord,
} from './warmup.ts'
import { watchWarmup, type WarmupDiscovery } from './warmup-watch.ts'

export interface WaitOptions {
  performer: Performer
  /** Null if the run belongs to a daemon on another machine. */
  app: App | null
  /** Ends the wait. */
  signal: AbortSignal
  onProgress(progress: WarmupProgressRecord): void
  onMessage(message: string): void
}

/** The result of a run, or its state when the wait was ended. */
export interface WarmupReport {
  progress: WarmupProgressRecord
  discovery: WarmupDiscovery
  /** Why URLs failed, the most frequent reason first. */
  reasons: WarmupFailures['reasons']
  /** The first failed URLs. */
  failures: WarmupFailures['items']
}

/** Polling intervals in ms. */
const progressInterval = 250
const workerCheckInterval = 1000
const maxFailures = 10

/**
 * Waits for the end of a run, and processes it in this process while there is no other worker. If the wait is ended early, a run that
 * only this process works on is paused; otherwise the other workers continue it.
 */
export async function waitForWarmup(options: WaitOptions, id: string): Promise<WarmupReport> {
  const { performer, app, signal } = options
  const worker = app === null ? null : new StandInWorker(app, options)
  try {
    for (;;) {
      const { progress } = await performer.perform(readWarmupProgress, { progressId: id })
      if (progress === null || (progress.status !== 'running' && progress.status !== 'paused')) break
      options.onProgress(progress)
      if (signal.aborted) break
      await worker?.startIfAlone()
      await realTiming.sleep(progressInterval, signal)
    }
  } finally {
    await worker?.stop()
  }
  if (signal.aborted && worker?.alone) await pauseInterrupted(options, id)
  return report(options, id)
}

/** Processes warmups in this process while no other worker does. */
class StandInWorker {
  readonly #app: App
  readonly #options: WaitOptions
  readonly #done = new AbortController()
  #working: Promise<void> | null = null
  #failure: { error: unknown } | null = null
  #checkedAt = -Infinity
  /** True if the last check found no other worker. */
  alone = false

  constructor(app: App, options: WaitOptions) {
    this.#app = app
    this.#options = options
  }

  async startIfAlone(): Promise<void> {
    const now = performance.now()
    if (now - this.#checkedAt < workerCheckInterval) return
    this.#checkedAt = now
    const { isWorkedElsewhere } = await import('../workers/warmup.ts')
    this.alone = !(await isWorkedElsewhere(this.#app))
    if (this.#failure) throw this.#failure.error
    if (!this.alone || this.#working !== null) return
    this.#working = this.#work()
      .catch((error: unknown) => void (this.#failure = { error }))
      .finally(() => void (this.#working = null))
  }

  async #work(): Promise<void> {
    const [{ consume }, { makeWarmupHandler }] = await Promise.all([
      import('../queue/consume.ts'),
      import('../workers/warmup.ts'),
    ])
    await consume({
      queue: await this.#app.queue(),
      kind: 'consumer',
      transports: ['async'],
      handlers: [await makeWarmupHandler(this.#app)],
      stop: AbortSignal.any([this.#options.signal, this.#done.signal]),
      timing: realTiming,
      random: Math.random,
      memory: () => process.memoryUsage.rss(),
      onEvent: (event) => {
        if ('error' in event) this.#options.onMessage(event.error)
      },
    })
  }

  async stop(): Promise<void> {
    this.#done.abort()
    const worked = this.#working
    await worked
    if (worked === null) this.alone = false
  }
}

async function pauseInterrupted({ performer }: WaitOptions, id: string): Promise<void> {
  const { progress } = await performer.perform(readWarmupProgress, { progressId: id })
  if (progress?.status === 'running') await performer.perform(pauseWarmup, { progressId: id })
}

async function report({ performer, onProgress }: WaitOptions, id: string): Promise<WarmupReport> {
  const { progress, discovery } = await performer.perform(watchWarmup, { progressId: id })
  const { items, reasons } = await performer.perform(listWarmupFailures, { progressId: id, limit: maxFailures })
  onProgress(progress!)
  return { progress: progress!, discovery: discovery!, reasons, failures: items }
}
