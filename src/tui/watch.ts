import { forbidColor, processVariables } from '../config/environment.ts'
import { mayColor, takesTerminal } from './terminal.ts'
import type { Watched, WatchOptions } from './watch-options.ts'

/** Whether the screen may be used in this process: a terminal on both sides, and nothing that asks for lines. */
export function hasScreen(wanted: boolean): boolean {
  return takesTerminal(process, processVariables(), wanted)
}

/** Shows the tabs on the terminal of this process until somebody leaves. Ink is loaded here, and nowhere before. */
export async function watchOnScreen(options: WatchOptions): Promise<Watched> {
  if (!mayColor(processVariables(), process.argv)) forbidColor()
  const { runTui } = await import('./run.tsx')
  return runTui({ ...options, directory: process.cwd(), stdin: process.stdin, stdout: process.stdout })
}
