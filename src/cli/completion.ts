/** The part of the manifest that a completion script needs. */
export interface CompletableCommand {
  id: string
  summary?: string | undefined
  flags: Record<
    string,
    { type: string; summary?: string; options?: readonly string[]; char?: string; hidden?: boolean }
  >
  args: Record<string, { options?: readonly string[] }>
}

/** A word to complete, with its description. */
interface Word {
  word: string
  description: string
}

/** Input of the script templates. */
interface Choices {
  commands: Word[]
  /** Flags and argument values by command. */
  flags: Map<string, Word[]>
  /** Values by `command --flag`; empty if the flag takes any text. Boolean flags are absent. */
  values: Map<string, readonly string[]>
}

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/**
 * Generates a completion script. It contains all commands and flags, so that completing starts no process.
 */
export function completionScript(shell: Shell, bin: string, commands: readonly CompletableCommand[]): string {
  const choices = toChoices(commands)
  if (shell === 'bash') return bashScript(bin, choices)
  return shell === 'zsh' ? zshScript(bin, choices) : fishScript(bin, choices)
}

function toChoices(commands: readonly CompletableCommand[]): Choices {
  const choices: Choices = { commands: [], flags: new Map(), values: new Map() }
  for (const command of commands) {
    choices.commands.push({ word: command.id, description: plain(command.summary) })
    const words = Object.values(command.args).flatMap((argument) => argument.options ?? [])
    const flags = Object.entries(command.flags).filter(([, flag]) => !flag.hidden)
    choices.flags.set(command.id, [
      ...words.map((word) => ({ word, description: '' })),
      ...flags.map(([name, flag]) => ({ word: `--${name}`, description: plain(flag.summary) })),
      { word: '--help', description: 'Show help.' },
    ])
    for (const [name, flag] of flags) {
      if (flag.type === 'option') choices.values.set(`${command.id} --${name}`, flag.options ?? [])
    }
  }
  return choices
}

/** Removes the characters that a shell would interpret in a quoted or bracketed description. */
function plain(summary = ''): string {
  return summary.replaceAll(/['"`\\$[\]]/g, '')
}

function bashScript(bin: string, { commands, flags, values }: Choices): string {
  return `# bash completion for ${bin}. To use it: eval "$(${bin} completion bash)"
_${bin}() {
  local line="\${COMP_LINE:0:COMP_POINT}" words cur prev command reply
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="\${words[\${#words[@]}-1]}"
  prev="\${words[\${#words[@]}-2]}"
  command="\${words[1]}"
  if (( \${#words[@]} <= 2 )); then
    reply='${commands.map(({ word }) => word).join(' ')}'
  else
    case "$command $prev" in
${[...values].map(([key, words]) => `      '${key}') reply='${words.join(' ')}' ;;`).join('\n')}
      *) case "$command" in
${[...flags].map(([id, words]) => `        '${id}') reply='${words.map(({ word }) => word).join(' ')}' ;;`).join('\n')}
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$reply" -- "$cur"))
  # Readline treats a colon as the end of a word and would repeat the part before it.
  if [[ "$cur" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    local head="\${cur%"\${cur##*:}"}"
    COMPREPLY=("\${COMPREPLY[@]#"$head"}")
  fi
}
complete -o default -F _${bin} ${bin}
`
}

function zshScript(bin: string, { commands, flags, values }: Choices): string {
  const describe = (words: readonly Word[]) =>
    words
      .map(({ word, description }) => `'${word.replaceAll(':', '\\:')}${description && `:${description}`}'`)
      .join(' ')
  return `#compdef ${bin}
# zsh completion for ${bin}. To use it: eval "$(${bin} completion zsh)" after compinit
_${bin}() {
  local -a choices
  if (( CURRENT == 2 )); then
    choices=(${describe(commands)})
    _describe command choices
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${[...values].map(([key, words]) => `    '${key}') ${words.length > 0 ? `compadd -- ${words.join(' ')}` : '_files'}; return ;;`).join('\n')}
  esac
  case "$words[2]" in
${[...flags].map(([id, words]) => `    '${id}') choices=(${describe(words)}) ;;`).join('\n')}
  esac
  _describe option choices
}
compdef _${bin} ${bin}
`
}

function fishScript(bin: string, { commands, flags, values }: Choices): string {
  const lines = commands.map(
    ({ word, description }) => `complete -c ${bin} -n __fish_use_subcommand -f -a '${word}' -d '${description}'`,
  )
  for (const [id, words] of flags) {
    const when = `-n '__fish_seen_subcommand_from ${id}'`
    for (const { word, description } of words) {
      const options = values.get(`${id} ${word}`)
      const takes = options && (options.length > 0 ? ` -x -a '${options.join(' ')}'` : ' -r')
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a '${word}'`
      lines.push(`complete -c ${bin} ${when} ${what}${takes ?? ''}${description && ` -d '${description}'`}`)
    }
  }
  return `# fish completion for ${bin}. To use it: ${bin} completion fish | source\n${lines.join('\n')}\n`
}
