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
  /** Null where the run is a daemon's on another machine. */
  app: App | null
  /** Stop waiting. */
  signal: AbortSignal
  onProgress(progress: WarmupProgressRecord): void
  onMessage(message: string): void
}

/** What is told of a run when it has ended, or nobody waits for it any more. */
export interface WarmupReport {
  progress: WarmupProgressRecord
  discovery: WarmupDiscovery
  /** Why URLs failed, the commonest first; and the first of them. */
  reasons: WarmupFailures['reasons']
  failures: WarmupFailures['items']
}

const lookEvery = 250
/** How often it is asked whether somebody works the queue (milliseconds). */
const askEvery = 1000
const failuresTold = 10

/**
 * Waits for the end of a run, and works it here for as long as nobody else does. Where the waiting is broken off, a run that only this
 * process works is paused; others go on with theirs.
 */
export async function waitForWarmup(options: WaitOptions, id: string): Promise<WarmupReport> {
  const { performer, app, signal } = options
  const help = app === null ? null : new Help(app, options)
  try {
    for (;;) {
      const { progress } = await performer.perform(readWarmupProgress, { progressId: id })
      if (progress === null || (progress.status !== 'running' && progress.status !== 'paused')) break
      options.onProgress(progress)
      if (signal.aborted) break
      await help?.look()
      await realTiming.sleep(lookEvery, signal)
    }
  } finally {
    await help?.end()
  }
  if (signal.aborted && help?.alone) await pauseInterrupted(options, id)
  return report(options, id)
}

/** Works warmups in this process while nobody else does. */
class Help {
  readonly #app: App
  readonly #options: WaitOptions
  readonly #done = new AbortController()
  #working: Promise<void> | null = null
  #fault: { error: unknown } | null = null
  #askedAt = -Infinity
  /** Nobody else works on it, as far as was seen last. */
  alone = false

  constructor(app: App, options: WaitOptions) {
    this.#app = app
    this.#options = options
  }

  async look(): Promise<void> {
    const now = performance.now()
    if (now - this.#askedAt < askEvery) return
    this.#askedAt = now
    const { isWorkedElsewhere } = await import('../workers/warmup.ts')
    this.alone = !(await isWorkedElsewhere(this.#app))
    if (this.#fault) throw this.#fault.error
    if (!this.alone || this.#working !== null) return
    this.#working = this.#work()
      .catch((error: unknown) => void (this.#fault = { error }))
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

  async end(): Promise<void> {
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
  const { items, reasons } = await performer.perform(listWarmupFailures, { progressId: id, limit: failuresTold })
  onProgress(progress!)
  return { progress: progress!, discovery: discovery!, reasons, failures: items }
}
