import type { ConfigFlags } from '../config/load.ts'
import type { RemoteFlags } from '../config/remote.ts'
import { PagecacheError } from '../errors.ts'
import { parseTypedDuration } from '../lib/quantity.ts'

/** The values of the flags of every command. */
export interface GlobalFlags {
  config: ConfigFlags
  remote: RemoteFlags
  quiet: boolean
  interactive: boolean
  debug: boolean
  /** Milliseconds; null: unlimited. */
  timeout: number | null
}

/** @throws USAGE for a timeout that is no duration */
export function readGlobalFlags(flags: Readonly<Record<string, unknown>>): GlobalFlags {
  const text = (name: string) => flags[name] as string | undefined
  return {
    config: { env: text('env'), projectDir: text('project-dir'), config: text('config') },
    remote: { server: text('server'), profile: text('profile') },
    quiet: flags['quiet'] === true,
    interactive: flags['no-input'] !== true,
    debug: flags['debug'] === true,
    timeout: readTimeout(text('timeout')),
  }
}

/** Longer times do not fit a timer. */
const longest = 2 ** 31 - 1

function readTimeout(given: string | undefined): number | null {
  if (given === undefined) return null
  const timeout = parseTypedDuration(given)
  if (timeout !== undefined && timeout > 0 && timeout <= longest) return timeout
  throw new PagecacheError('USAGE', `--timeout: expected a duration such as 30s or 5m, not ${JSON.stringify(given)}`)
}

/** Flags that choose where a command runs. */
const choosing = ['--env', '-e', '--project-dir', '--config', '--server', '--profile']

/** The flags among the words of a line that choose where a command runs, for a command that completes the line. */
export function globalFlagsIn(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    if (choosing.includes(word)) return words[index + 1] === undefined ? [] : [word, words[index + 1]!]
    return choosing.includes(word.split('=', 1)[0]!) ? [word] : []
  })
}
