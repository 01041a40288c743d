import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import type { Performer } from '../operations/operation.ts'
import {
  listWarmupFailures,
  pauseWarmup,
  readWarmupProgress,
  type WarmupFailures,
  type WarmupProgressRecord,
} from '../operations/warmup.ts'
import { watchWarmup, type WarmupDiscovery } from '../operations/warmup-watch.ts'
import type { StandbyOptions } from '../warmup/run/wait.ts'

export interface WaitOptions {
  performer: Performer
  /** Null if the run belongs to a daemon on another machine. */
  app: App | null
  /** Aborted: stop waiting. */
  signal: AbortSignal
  onProgress(progress: WarmupProgressRecord): void
  onMessage(message: string): void
}

/** The state of a run when it has ended, or when waiting for it was interrupted. */
export interface WarmupReport {
  progress: WarmupProgressRecord
  discovery: WarmupDiscovery
  /** Why URLs failed, the most frequent reason first. */
  reasons: WarmupFailures['reasons']
  /** The first few failed URLs. */
  failures: WarmupFailures['items']
}

const reportedFailures = 10

/** Waits for a run through operations, so that it works for a daemon on another machine too; `waitForRun` has the rules. */
export async function waitForWarmup(options: WaitOptions, id: string): Promise<WarmupReport> {
  const { performer, app, signal, onProgress } = options
  const { waitForRun } = await import('../warmup/run/wait.ts')
  await waitForRun({
    readProgress: async () => (await performer.perform(readWarmupProgress, { progressId: id })).progress,
    pause: () => performer.perform(pauseWarmup, { progressId: id }),
    standby: app && standbyOf(app, options.onMessage),
    stop: signal,
    timing: realTiming,
    onProgress,
  })
  const { progress, discovery } = await performer.perform(watchWarmup, { progressId: id })
  const { items, reasons } = await performer.perform(listWarmupFailures, { progressId: id, limit: reportedFailures })
  onProgress(progress!)
  return { progress: progress!, discovery: discovery!, reasons, failures: items }
}

function standbyOf(app: App, onMessage: (message: string) => void): StandbyOptions {
  return {
    async hasOtherWorkers() {
      const { hasOtherWorkers } = await import('../warmup/run/active-workers.ts')
      return hasOtherWorkers(await app.queue())
    },
    async work(stop) {
      const [{ consumeWith }, { makeWarmupHandler }] = await Promise.all([
        import('./workers.ts'),
        import('./warmup.ts'),
      ])
      return consumeWith(app, [await makeWarmupHandler(app)], {
        kind: 'consumer',
        transports: ['async'],
        stop,
        onEvent: (event) => {
          if ('error' in event) onMessage(event.error)
        },
      })
    },
  }
}
