import { hostname } from 'node:os'
import { PagecacheError } from '../errors.ts'
import { formatCount, plural } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import { operations } from '../operations/index.ts'
import type { Given } from '../operations/operation.ts'
import { readWarmupProgress } from '../operations/warmup.ts'
import { startWarmup, warnWithoutWorkers, type Started } from '../operations/warmup-start.ts'
import type { Feeds } from '../tui/poller.ts'
import { toSource } from '../tui/source.ts'
import { warmupTab } from '../tui/tabs/warmup/tab.ts'
import type { Watched } from '../tui/tabs/warmup/watched.ts'
import { hasScreen, watchOnScreen } from '../tui/watch.ts'
import type { Session } from './session.ts'
import { toAdvance, type ProgressDisplay } from './progress.ts'
import { reportWhenEnded, type WarmupReport } from './warmup-report.ts'
import { leaveRunning } from './watch-warmup.ts'

export interface WarmupOptions {
  input: Given<typeof startWarmup.input>
  /** Whether the command waits for the end of the run, and how it shows the progress meanwhile. */
  waiting: 'no' | 'lines' | 'tui'
  display: ProgressDisplay
}

/** A run that was started; `report` is null unless the command has waited for it. */
export interface StartedWarmup {
  started: Started
  report: WarmupReport | null
  interrupted: boolean
}

/** Starts a run and, where `waiting` asks for it, waits for its end. @throws WARMUP_FAILED when discovery failed at once */
export async function runWarmup(session: Session, { input, waiting, display }: WarmupOptions): Promise<StartedWarmup> {
  const { performer, signal } = session
  try {
    const started = await performer.perform(startWarmup, input)
    if (started.progressId === null) return { started, report: null, interrupted: false }
    if (waiting === 'no') {
      display.end()
      await assertStarted(session, started.progressId)
      return { started, report: null, interrupted: false }
    }
    const wait = hasScreen(waiting === 'tui' && !session.json) ? waitInTui : waitInLines
    const report = await wait(session, display, started.progressId)
    return { started, report, interrupted: signal.aborted }
  } finally {
    display.end()
  }
}

async function assertStarted({ performer, app, tell }: Session, id: string): Promise<void> {
  const { progress } = await performer.perform(readWarmupProgress, { progressId: id })
  if (progress?.status === 'failed') throw new PagecacheError('WARMUP_FAILED', progress.message ?? 'The warmup failed.')
  if (app === null || progress?.status !== 'running') return
  await warnWithoutWorkers({ app, report: (event) => void (event.kind === 'message' && tell(event.message)) })
}

function waitInLines({ performer, app, signal, isTimedOut, tell }: Session, display: ProgressDisplay, id: string) {
  const onMessage = (message: string) => {
    display.end()
    tell(message)
  }
  const onFinishing = () => {
    if (!isTimedOut()) tell('\nFinishing the pages in progress; interrupt again to stop at once.')
  }
  const onProgress = (progress: WarmupReport['progress']) => display.update(toAdvance(progress))
  return reportWhenEnded({ performer, app, signal, onProgress, onMessage, onFinishing }, id)
}

/** Waits with the terminal UI open. Leaving it ends the wait. */
async function waitInTui(session: Session, display: ProgressDisplay, id: string): Promise<WarmupReport> {
  display.end()
  const { performer, app, signal, tell } = session
  const [left, failed] = [new AbortController(), new AbortController()]
  const waiting = reportWhenEnded(
    { performer, app, signal: AbortSignal.any([signal, left.signal]), onProgress: () => {}, onMessage: tell },
    id,
  )
  // The error itself is thrown by `await waiting`, once the terminal is restored.
  waiting.catch(() => failed.abort())
  const { error } = await session.hold(() =>
    watchOnScreen({
      source: toSource(session.sourceName, operations, performer),
      tabs: [warmupTab(id)],
      leaving: app === null ? leaveRunning : leavingText,
      untilEnd: true,
      signal: AbortSignal.any([signal, failed.signal]),
    }),
  )
  left.abort()
  const report = await waiting
  if (error !== null) throw error
  return report
}

/** A run that only this process works on is paused when the operator leaves. */
function leavingText(feeds: Feeds): string {
  const { progress, live } = (feeds['warmup']?.value ?? { progress: null, live: null }) as Watched
  const others = live?.workers.some(({ alive, host, pid }) => alive && (host !== hostname() || pid !== process.pid))
  return others || live?.behind || progress?.status !== 'running'
    ? leaveRunning(feeds)
    : 'leave and pause it (no other worker)'
}

/**
 * Turns an unsuccessful end of a run into an error. With `--json` the value is still printed, so the error only sets the exit code
 * and goes to stderr.
 *
 * @throws WARMUP_FAILED, INTERRUPTED
 */
export function assertWarmed(
  { progress, failures }: WarmupReport,
  {
    interrupted,
    allowFailures,
    json,
    tell,
  }: { interrupted: boolean; allowFailures: boolean } & Pick<Session, 'json' | 'tell'>,
): void {
  const error = toError(progress, interrupted, allowFailures)
  if (error === null) return
  if (!json) throw error
  process.exitCode = error.exit
  for (const line of [error.message, ...failures.map(({ url, error }) => `${url} ${error}`)]) tell(printable(line))
}

function toError(
  progress: WarmupReport['progress'],
  interrupted: boolean,
  allowFailures: boolean,
): PagecacheError | null {
  if (interrupted) return new PagecacheError('INTERRUPTED', interruptedText[progress.status] ?? 'Interrupted.')
  if (progress.status === 'failed') return new PagecacheError('WARMUP_FAILED', progress.message ?? 'The warmup failed.')
  if (progress.status === 'cancelled')
    return new PagecacheError(
      'WARMUP_FAILED',
      `The warmup was cancelled with ${plural(progress.remaining_urls, 'URL')} remaining.`,
    )
  // The operator left the terminal UI before the end.
  if (progress.status === 'running' || progress.status === 'paused') return null
  if (allowFailures || progress.failed_urls === 0) return null
  return new PagecacheError(
    'WARMUP_FAILED',
    `${formatCount(progress.failed_urls)} of ${plural(progress.total_urls, 'URL')} could not be cached.`,
  )
}

const interruptedText: Readonly<Record<string, string>> = {
  running: 'Interrupted. Other workers continue the warmup.',
  paused: 'Interrupted. Fetched pages are cached; pagecache warmup:resume fetches the rest.',
}
