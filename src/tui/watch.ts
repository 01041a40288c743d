import { forbidColor, processVariables } from '../config/environment.ts'
import { mayColor, takesTerminal } from './terminal.ts'
import type { SessionEnd, WatchOptions } from './watch-options.ts'

/** Whether this process can show the full-screen UI: stdin and stdout are terminals, and plain output was not requested. */
export function hasScreen(wanted: boolean): boolean {
  return takesTerminal(process, processVariables(), wanted)
}

/** Shows the tabs on this terminal until the operator quits. Ink is imported here only. */
export async function watchOnScreen(options: WatchOptions): Promise<SessionEnd> {
  if (!mayColor(processVariables(), process.argv)) forbidColor()
  const { runTui } = await import('./run.tsx')
  return runTui({ ...options, directory: process.cwd(), stdin: process.stdin, stdout: process.stdout })
}
