import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { printable } from '../lib/safe-text.ts'
import { operations } from '../operations/index.ts'
import { isDueLine, monitorSummary, monitorTabs, readAll, readLast, type SystemState } from '../tui/monitor-summary.ts'
import { toSource, type Source } from '../tui/source.ts'
import { hasScreen, watchOnScreen } from '../tui/watch.ts'
import type { Session } from './session.ts'
import { Output } from './output.ts'

/** Interval between two readings without a terminal UI, in ms. */
const readInterval = 1000

/** Time limit for reading the final values after the operator has left the terminal UI, in ms. */
const finalReadTimeout = 1000

/** Shows the system until the operator leaves, and returns its last state. With `--json` it reads the state once. */
export async function monitor(session: Session, { tui }: { tui: boolean }): Promise<Partial<SystemState>> {
  const { performer, signal } = session
  const source = toSource(session.sourceName, operations, performer)
  if (session.json) return readAll(source)
  if (!hasScreen(tui)) return monitorInLines(source, session)
  const { feeds, error } = await session.hold(() =>
    watchOnScreen({ source, tabs: monitorTabs, leaving: () => 'leave', untilEnd: false, signal }),
  )
  const state = await readLast(source, feeds, finalReadTimeout)
  if (!session.quiet) for (const line of monitorSummary(state)) new Output().line(line)
  if (error !== null) throw error
  if (signal.aborted) throw interrupted()
  return state
}

/** Prints a summary line when one is due, until interrupted. Only a failure of the first reading ends it. */
async function monitorInLines(source: Source, { signal, tell, quiet }: Session): Promise<never> {
  const output = new Output()
  let state = await readAll(source)
  let printed: { state: SystemState; at: number } | null = null
  let lastError = ''
  for (;;) {
    const now = performance.now()
    if (isDueLine(printed, state, now)) {
      if (!quiet) output.prose(monitorSummary(state).join('; '))
      printed = { state, at: now }
    }
    await sleep(readInterval, undefined, { signal }).catch(() => {})
    if (signal.aborted) throw interrupted()
    const read = await readAll(source).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    )
    if (signal.aborted) throw interrupted()
    if (typeof read !== 'string') state = read
    else if (read !== lastError) tell(printable(`No response, retrying: ${read}`))
    lastError = typeof read === 'string' ? read : ''
  }
}

function interrupted(): PagecacheError {
  return new PagecacheError('INTERRUPTED', 'Interrupted.')
}
