import { appendFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { homedir } from 'node:os'
import { processVariables, type Variables } from '../config/environment.ts'
import { PagecacheError } from '../errors.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { shells, type Shell } from './completion.ts'

/** The shell that the operator uses. @throws USAGE where it has no completion */
export function shellInUse(variables: Variables = processVariables()): Shell {
  const name = variables['SHELL']?.split('/').at(-1) ?? ''
  const shell = shells.find((each) => each === name)
  if (shell !== undefined) return shell
  throw new PagecacheError('USAGE', `completion needs SHELL: one of ${shells.join(', ')}.`)
}

/** What a shell reads at its start, and the line that sets up the completion there. The script is made anew, so that an update changes it. */
function placeOf(shell: Shell, bin: string, variables: Variables): { file: string; line: string } {
  const home = variables['HOME'] || homedir()
  if (shell === 'fish') {
    const config = variables['XDG_CONFIG_HOME'] || join(home, '.config')
    return { file: join(config, `fish/completions/${bin}.fish`), line: `${bin} completion fish | source` }
  }
  const line = `command -v ${bin} >/dev/null && eval "$(${bin} completion ${shell})"`
  if (shell === 'bash') return { file: join(home, '.bashrc'), line }
  const compinit = '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }'
  return { file: join(variables['ZDOTDIR'] || home, '.zshrc'), line: `${compinit}; ${line}` }
}

/** Adds the completion to the start file of a shell, once. @throws CHECK_FAILED where it cannot be written */
export async function installCompletion(
  shell: Shell,
  bin: string,
  variables: Variables = processVariables(),
): Promise<{ file: string; changed: boolean }> {
  const { file, line } = placeOf(shell, bin, variables)
  try {
    const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    if (before.split('\n').includes(line)) return { file, changed: false }
    makeDirectory(dirname(file), 0o700)
    // Appending keeps the rest, and a file that is a symbolic link.
    await appendFile(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`)
    return { file, changed: true }
  } catch (error) {
    throw new PagecacheError('CHECK_FAILED', `Could not write ${file}: ${(error as Error).message}`, {
      cause: error,
      hint: `Add this line to it: ${line}`,
    })
  }
}
