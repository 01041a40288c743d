import { forbidColor, processVariables } from '../config/environment.ts'
import type { Feeds } from './poller.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'
import { mayColor, takesTerminal } from './terminal.ts'

/** Whether the screen may be used in this process: a terminal on both sides, and nothing that asks for lines. */
export function hasScreen(wanted: boolean): boolean {
  return takesTerminal(process, processVariables(), wanted)
}

export interface WatchOptions {
  source: Source
  tabs: readonly Tab[]
  /** What `q` does now, in a few words. */
  leaving(feeds: Feeds): string
  /** Leaves by itself when the run has ended. */
  untilEnd: boolean
  signal: AbortSignal
}

/** What was known when the screen was left, and what broke it; null where nothing did. */
export interface Watched {
  feeds: Feeds
  fault: unknown
}

/** Shows the tabs on the terminal of this process until somebody leaves. Ink is loaded here, and nowhere before. */
export async function watchOnScreen(options: WatchOptions): Promise<Watched> {
  if (!mayColor(processVariables(), process.argv)) forbidColor()
  const { runTui } = await import('./run.tsx')
  return runTui({ ...options, directory: process.cwd(), stdin: process.stdin, stdout: process.stdout })
}
