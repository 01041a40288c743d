import { PagecacheError } from '../errors.ts'
import { operations } from '../operations/index.ts'
import type { Feeds } from '../tui/poller.ts'
import { toSource, type Source } from '../tui/source.ts'
import { warmupSummary } from '../tui/summary.ts'
import { warmupTab } from '../tui/tabs/warmup/tab.ts'
import { silence, type Watched } from '../tui/tabs/warmup/watched.ts'
import { hasScreen, watchOnScreen } from '../tui/watch.ts'
import { watchLines } from '../tui/watch-lines.ts'
import type { Session } from './session.ts'
import { Output } from './output.ts'
import { ProgressDisplay } from './progress.ts'
import { noWarmup } from './warmup-command.ts'

/** What the terminal UI says about its `q` key: leaving changes nothing, and only a running warmup continues. */
export function leaveRunning(feeds: Feeds): string {
  const watched = (feeds['warmup']?.value ?? { progress: null, live: null }) as Watched
  const { progress } = watched
  if (progress?.status === 'running')
    return silence(watched) === null ? 'leave; the warmup continues' : 'leave; the warmup waits for a worker'
  return progress?.status === 'paused' ? 'leave; the warmup stays paused' : 'leave'
}

/**
 * Shows a run until it ends or the operator leaves, then prints a summary.
 *
 * @param id the run; null for the latest
 * @returns the last known state of the run
 * @throws NOT_FOUND for an unknown id, INTERRUPTED
 */
export async function watchWarmup(session: Session, id: string | null, { tui }: { tui: boolean }): Promise<Watched> {
  const source = toSource(session.sourceName, operations, session.performer)
  const screen = hasScreen(tui && !session.json)
  const watched = await (screen ? watchInTui : watchInLines)(source, id, session)
  if (!session.json && !session.quiet) printSummary(watched)
  if (session.signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
  return watched
}

async function watchInTui(source: Source, id: string | null, { hold, signal }: Session): Promise<Watched> {
  // Fails for an unknown id before the terminal is taken over.
  const first = await readRun(source, id)
  const tabs = [warmupTab(id)]
  const { feeds, error } = await hold(() =>
    watchOnScreen({ source, tabs, leaving: leaveRunning, untilEnd: false, signal }),
  )
  const watched = (feeds['warmup']?.value ?? first) as Watched
  if (error === null) return watched
  printSummary(watched)
  throw error
}

async function watchInLines(source: Source, id: string | null, { tell, quiet, signal }: Session): Promise<Watched> {
  const { progress } = await readRun(source, id)
  if (progress === null) throw noWarmup(undefined)
  const display = new ProgressDisplay()
  display.quiet = quiet
  try {
    return await watchLines({
      source,
      id: progress.id,
      signal,
      update: (advance) => display.update(advance),
      tell: (message) => {
        display.end()
        tell(message)
      },
    })
  } finally {
    display.end()
  }
}

async function readRun(source: Source, id: string | null): Promise<Watched> {
  const watched = (await source.perform('warmup.watch', id === null ? {} : { progressId: id })) as Watched
  if (watched.progress === null && id !== null) throw noWarmup(id)
  return watched
}

function printSummary(watched: Watched): void {
  const output = new Output()
  for (const line of warmupSummary(watched)) output.line(line)
}
