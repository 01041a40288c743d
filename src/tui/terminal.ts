import { allowsColor, isContinuousIntegration, wantsScreenReader, type Variables } from '../config/environment.ts'

export interface Streams {
  stdin: { isTTY?: boolean }
  stdout: { isTTY?: boolean }
}

/** Whether the terminal can show the full screen: stdin and stdout are terminals, outside CI, and can move the cursor. */
export function takesTerminal({ stdin, stdout }: Streams, variables: Variables, wanted: boolean): boolean {
  if (!wanted || stdin.isTTY !== true || stdout.isTTY !== true) return false
  return variables['TERM'] !== 'dumb' && !isContinuousIntegration(variables) && !wantsScreenReader(variables)
}

/** Whether colours may be used; `--no-color` has the effect of NO_COLOR. */
export function mayColor(variables: Variables, argv: readonly string[]): boolean {
  return allowsColor(variables) && !argv.includes('--no-color')
}
