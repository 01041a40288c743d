import { kindOfArguments, kindOfFlag, type ValueKind } from './completable.ts'

/** The part of the manifest that a completion script needs. */
export interface CompletableCommand {
  id: string
  hidden?: boolean
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
  /** Kinds of values that are read from the state, by `command --flag`, and by `command` for its arguments. */
  kinds: Map<string, ValueKind>
}

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/**
 * Generates a completion script. It contains all commands and flags; only values from the state start a process (`completion:values`).
 */
export function completionScript(shell: Shell, bin: string, commands: readonly CompletableCommand[]): string {
  const choices = toChoices(commands)
  if (shell === 'bash') return bashScript(bin, choices)
  return shell === 'zsh' ? zshScript(bin, choices) : fishScript(bin, choices)
}

function toChoices(commands: readonly CompletableCommand[]): Choices {
  const choices: Choices = { commands: [], flags: new Map(), values: new Map(), kinds: new Map() }
  for (const command of commands) {
    if (command.hidden) continue
    choices.commands.push({ word: command.id, description: plain(command.summary) })
    const kind = kindOfArguments(command.id, Object.keys(command.args))
    if (kind !== null) choices.kinds.set(command.id, kind)
    const words = Object.values(command.args).flatMap((argument) => argument.options ?? [])
    const flags = Object.entries(command.flags).filter(([, flag]) => !flag.hidden)
    choices.flags.set(command.id, [
      ...words.map((word) => ({ word, description: '' })),
      ...flags.map(([name, flag]) => ({ word: `--${name}`, description: plain(flag.summary) })),
      { word: '--help', description: 'Show help.' },
    ])
    for (const [name, flag] of flags) {
      if (flag.type !== 'option') continue
      choices.values.set(`${command.id} --${name}`, flag.options ?? [])
      const kindOfValue = kindOfFlag(name)
      if (kindOfValue !== null) choices.kinds.set(`${command.id} --${name}`, kindOfValue)
    }
  }
  return choices
}

/** Removes the characters that a shell would interpret in a quoted or bracketed description. */
function plain(summary = ''): string {
  return summary.replaceAll(/['"`\\$[\]]/g, '')
}

function bashScript(bin: string, { commands, flags, values, kinds }: Choices): string {
  return `# bash completion for ${bin}. To use it: eval "$(${bin} completion bash)"
_${bin}() {
  local line="\${COMP_LINE:0:COMP_POINT}" words cur prev command reply kind
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="\${words[\${#words[@]}-1]}"
  prev="\${words[\${#words[@]}-2]}"
  local commands='${commands.map(({ word }) => word).join(' ')}' at=2
  command="\${words[1]}"
  # A topic may be written with spaces: cache stats.
  while [[ " $commands " != *" $command "* ]] && (( at < \${#words[@]} - 1 )); do command+=":\${words[at++]}"; done
  if (( \${#words[@]} <= 2 )); then
    reply="$commands"
  elif [[ " $commands " != *" $command "* ]]; then
    for kind in $commands; do [[ "$kind" == "$command":* ]] && reply+=" \${kind#"$command":}"; done
    kind=''
  else
    words=("\${words[0]}" "$command" "\${words[@]:at}")
    case "$command $prev" in
${[...values].map(([key, words]) => `      '${key}') reply='${words.join(' ')}' ;;`).join('\n')}
      *) case "$command" in
${[...flags].map(([id, words]) => `        '${id}') reply='${words.map(({ word }) => word).join(' ')}' ;;`).join('\n')}
      esac ;;
    esac
    case "$command $prev" in
${kindCases(kinds, (id) => id.includes(' '))}
      *) [[ "$prev" == -* || "$cur" == -* ]] || case "$command" in
${kindCases(kinds, (id) => !id.includes(' '))}
      esac ;;
    esac
    [[ -n "$kind" ]] && reply+=" $("\${words[0]}" completion:values "$kind" "$cur" "\${words[@]:1}" 2>/dev/null | cut -f 1)"
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

/** Cases of a shell script that set `kind`. */
function kindCases(kinds: Choices['kinds'], isWanted: (id: string) => boolean): string {
  return [...kinds]
    .filter(([id]) => isWanted(id))
    .map(([id, kind]) => `      '${id}') kind=${kind} ;;`)
    .join('\n')
}

function zshScript(bin: string, { commands, flags, values, kinds }: Choices): string {
  const describe = (words: readonly Word[]) =>
    words
      .map(({ word, description }) => `'${word.replaceAll(':', '\\:')}${description && `:${description}`}'`)
      .join(' ')
  return `#compdef ${bin}
# zsh completion for ${bin}. To use it: eval "$(${bin} completion zsh)" after compinit
_${bin}() {
  local -a choices found
  local kind
${zshTopics(commands)}
  if (( CURRENT == 2 )); then
    choices=(${describe(commands)})
    _describe command choices
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${kindCases(kinds, (id) => id.includes(' '))}
      *) [[ $words[CURRENT-1] == -* || $words[CURRENT] == -* ]] || case "$words[2]" in
${kindCases(kinds, (id) => !id.includes(' '))}
      esac ;;
  esac
  if [[ -n $kind ]]; then
    found=("\${(@f)$($words[1] completion:values $kind "$words[CURRENT]" "\${(@)words[2,-1]}" 2>/dev/null)}")
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found//$'\t'/:}")
    [[ -n $found ]] && _describe value found
    [[ $words[CURRENT-1] == -* ]] && return
  fi
  case "$words[2] $words[CURRENT-1]" in
${[...values]
  .filter(([key]) => !kinds.has(key))
  .map(([key, words]) => `    '${key}') ${words.length > 0 ? `compadd -- ${words.join(' ')}` : '_files'}; return ;;`)
  .join('\n')}
  esac
  case "$words[2]" in
${[...flags].map(([id, words]) => `    '${id}') choices=(${describe(words)}) ;;`).join('\n')}
  esac
  _describe option choices
}
compdef _${bin} ${bin}
`
}

/** Joins the words of a topic that is written with spaces: cache stats. */
function zshTopics(commands: readonly Word[]): string {
  return `  local name=$words[2]
  local -i at=3
  local -a commands=(${commands.map(({ word }) => word).join(' ')})
  while (( at < CURRENT && ! $commands[(Ie)$name] )); do name+=":$words[at++]"; done
  if (( CURRENT > 2 )); then
    if (( ! $commands[(Ie)$name] )); then
      compadd -- \${\${(M)commands:#$name:*}#$name:}
      return
    fi
    words=("$words[1]" "$name" "\${(@)words[at,-1]}")
    (( CURRENT -= at - 3 ))
  fi`
}

function fishScript(bin: string, { commands, flags, values, kinds }: Choices): string {
  const lines = commands.flatMap(({ word, description }) => [
    `complete -c ${bin} -n __fish_use_subcommand -f -a '${word}' -d '${description}'`,
    ...topicsOf(word).map(
      (topic) =>
        `complete -c ${bin} -n '__${bin}_is ${topic}' -f -a '${word.slice(topic.length + 1)}' -d '${description}'`,
    ),
  ])
  for (const [id, words] of flags) {
    const when = `-n '__${bin}_in ${id}'`
    for (const { word, description } of words) {
      const options = values.get(`${id} ${word}`)
      const kind = kinds.get(`${id} ${word}`)
      const takes =
        kind === undefined
          ? options && (options.length > 0 ? ` -x -a '${options.join(' ')}'` : ' -r')
          : ` -x -a '${fishValues(bin, kind)}'`
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a '${word}'`
      lines.push(`complete -c ${bin} ${when} ${what}${takes ?? ''}${description && ` -d '${description}'`}`)
    }
    const kind = kinds.get(id)
    if (kind !== undefined) lines.push(`complete -c ${bin} ${when} -f -a '${fishValues(bin, kind)}'`)
  }
  return `# fish completion for ${bin}. To use it: ${bin} completion fish | source
# A topic may be written with spaces: cache stats.
function __${bin}_is
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test (string join : -- $words[2..]) = $argv[1]
end
function __${bin}_in
  __${bin}_is $argv[1]; and return
  set -l words (commandline -opc)
  test (count $words) -gt 1; and string match -q -- "$argv[1]:*" (string join : -- $words[2..])
end
${lines.join('\n')}
`
}

/** The topics of a command, shortest first. */
function topicsOf(id: string): string[] {
  const parts = id.split(':')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(':'))
}

function fishValues(bin: string, kind: ValueKind): string {
  return `(${bin} completion:values ${kind} (commandline -ct) (commandline -opc) 2>/dev/null)`
}
