import {
  listWarmupFailures,
  pauseWarmup,
  readWarmupProgress,
  type WarmupFailures,
  type WarmupProgressRecord,
} from '../operations/warmup.ts'
import { watchWarmup, type WarmupDiscovery } from '../operations/warmup-watch.ts'
import { waitForWarmup } from '../workers/warmup-wait.ts'
import type { Session } from './session.ts'

interface ReportOptions extends Pick<Session, 'performer' | 'app'> {
  /** Aborted: stop waiting. */
  signal: AbortSignal
  onProgress(progress: WarmupProgressRecord): void
  onMessage(message: string): void
  /** See `waitForWarmup`. */
  onFinishing?(): void
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

/** Waits for the end of a run and reports it. Reads through operations, so that it works for a daemon on another machine too. */
export async function reportWhenEnded(
  { performer, app, signal, ...listeners }: ReportOptions,
  id: string,
): Promise<WarmupReport> {
  await waitForWarmup({
    app,
    readProgress: async () => (await performer.perform(readWarmupProgress, { progressId: id })).progress,
    pause: () => performer.perform(pauseWarmup, { progressId: id }),
    stop: signal,
    ...listeners,
  })
  const { progress, discovery } = await performer.perform(watchWarmup, { progressId: id })
  const { items, reasons } = await performer.perform(listWarmupFailures, { progressId: id, limit: reportedFailures })
  listeners.onProgress(progress!)
  return { progress: progress!, discovery: discovery!, reasons, failures: items }
}
