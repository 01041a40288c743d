import { allowsColor, isContinuousIntegration, wantsScreenReader, type Variables } from '../config/environment.ts'

export interface Streams {
  stdin: { isTTY?: boolean }
  stdout: { isTTY?: boolean }
}

/** Whether the terminal may be taken over: somebody sees it and types on it, and it can do more than print lines. */
export function takesTerminal({ stdin, stdout }: Streams, variables: Variables, wanted: boolean): boolean {
  if (!wanted || stdin.isTTY !== true || stdout.isTTY !== true) return false
  return variables['TERM'] !== 'dumb' && !isContinuousIntegration(variables) && !wantsScreenReader(variables)
}

/** Whether colours may be used on it; `--no-color` counts as NO_COLOR does. */
export function mayColor(variables: Variables, argv: readonly string[]): boolean {
  return allowsColor(variables) && !argv.includes('--no-color')
}
