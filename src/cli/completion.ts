/** What of the manifest a completion needs. */
export interface CompletableCommand {
  id: string
  summary?: string | undefined
  flags: Record<
    string,
    { type: string; summary?: string; options?: readonly string[]; char?: string; hidden?: boolean }
  >
  args: Record<string, { options?: readonly string[] }>
}

/** A word that can stand at a place, and what it means. */
interface Word {
  word: string
  meaning: string
}

/** Everything that the shells' scripts are written from. */
interface Choices {
  commands: Word[]
  /** Per command: its flags, and the words that its first argument can be. */
  flags: Map<string, Word[]>
  /** Per command and flag: the words that may follow, none where any text may. Boolean flags are not in it. */
  values: Map<string, readonly string[]>
}

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/**
 * A completion script for a shell. All of the command line is written into it, so that completing starts no
 * process: bash, zsh and fish answer as fast as they can look up a word.
 */
export function completionScript(shell: Shell, bin: string, commands: readonly CompletableCommand[]): string {
  const choices = toChoices(commands)
  if (shell === 'bash') return bashScript(bin, choices)
  return shell === 'zsh' ? zshScript(bin, choices) : fishScript(bin, choices)
}

function toChoices(commands: readonly CompletableCommand[]): Choices {
  const choices: Choices = { commands: [], flags: new Map(), values: new Map() }
  for (const command of commands) {
    choices.commands.push({ word: command.id, meaning: plain(command.summary) })
    const words = Object.values(command.args).flatMap((argument) => argument.options ?? [])
    const flags = Object.entries(command.flags).filter(([, flag]) => !flag.hidden)
    choices.flags.set(command.id, [
      ...words.map((word) => ({ word, meaning: '' })),
      ...flags.map(([name, flag]) => ({ word: `--${name}`, meaning: plain(flag.summary) })),
      { word: '--help', meaning: 'Show help.' },
    ])
    for (const [name, flag] of flags) {
      if (flag.type === 'option') choices.values.set(`${command.id} --${name}`, flag.options ?? [])
    }
  }
  return choices
}

/** Summaries go between single quotes and between brackets: without what any of the shells could take for syntax. */
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
  # Readline counts a colon as the end of a word and would repeat what stands before it.
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
    words.map(({ word, meaning }) => `'${word.replaceAll(':', '\\:')}${meaning && `:${meaning}`}'`).join(' ')
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
    ({ word, meaning }) => `complete -c ${bin} -n __fish_use_subcommand -f -a '${word}' -d '${meaning}'`,
  )
  for (const [id, words] of flags) {
    const when = `-n '__fish_seen_subcommand_from ${id}'`
    for (const { word, meaning } of words) {
      const options = values.get(`${id} ${word}`)
      const takes = options && (options.length > 0 ? ` -x -a '${options.join(' ')}'` : ' -r')
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a '${word}'`
      lines.push(`complete -c ${bin} ${when} ${what}${takes ?? ''}${meaning && ` -d '${meaning}'`}`)
    }
  }
  return `# fish completion for ${bin}. To use it: ${bin} completion fish | source\n${lines.join('\n')}\n`
}
