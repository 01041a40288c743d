import { stripVTControlCharacters } from 'node:util'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/safe-text.ts'
import type { CommandInput } from './input-names.ts'

/** The part of a command that usage errors refer to. */
export interface UsedCommand {
  /** `cache:list` */
  id: string
  /** Names of its flags, including the shared ones. */
  flags: readonly string[]
  args: CommandInput['args']
}

/** An error of oclif's parser. */
interface ParserError extends Error {
  flags?: string[]
  args?: (string | { name: string })[]
}

/** Longer values are truncated in messages, in characters. */
const maxShownLength = 80

/**
 * Rewords errors of oclif's parser: which flag or argument is wrong, and what is expected. Returns any other error unchanged. The
 * value of an unknown flag is not repeated, because it may be a secret.
 */
export function toUsageError(error: unknown, command: UsedCommand): unknown {
  if (!(error instanceof Error) || !('oclif' in error)) return error
  const { message, hint } = explain(error, command)
  return new PagecacheError('USAGE', message, {
    hint: hint ?? `See pagecache ${command.id} --help.`,
    cause: error,
  })
}

/** oclif reports missing arguments as definitions, and unexpected ones as text. */
function isMissing(args: readonly (string | { name: string })[]): args is { name: string }[] {
  return typeof args[0] === 'object'
}

interface Explanation {
  message: string
  hint?: string | null
}

function explain(error: ParserError, command: UsedCommand): Explanation {
  if (error.flags) return unknownFlags(error.flags, command)
  if (Array.isArray(error.args))
    return isMissing(error.args) ? missing(error.args, command) : unexpected(error.args as string[], command)
  // oclif colours its messages on a terminal.
  const lines = stripVTControlCharacters(error.message)
    .replaceAll('\t', '')
    .split('\n')
    .map((line) => line.trim())
  const explanations = lines.map((line) => explainLine(line, lines, command)).filter((found) => found !== null)
  // oclif reports a conflict once for each of the two flags.
  const messages = [...new Set(explanations.map(({ message }) => message))]
  return messages.length === 0
    ? { message: lines[0] ?? '' }
    : { message: messages.join('\n  '), hint: explanations.find(({ hint }) => hint)?.hint ?? null }
}

function unknownFlags(given: readonly string[], { flags }: UsedCommand): Explanation {
  const names = [...new Set(given.map((flag) => printable(flag.split('=')[0]!.slice(0, maxShownLength))))]
  const guess = names
    .map((name) =>
      closest(
        name,
        flags.map((flag) => `--${flag}`),
      ),
    )
    .find((found) => found !== null)
  return { message: `Unknown flag: ${names.join(', ')}.`, hint: guess ? `Did you mean ${guess}?` : null }
}

function missing(names: readonly { name: string }[], { id, args }: UsedCommand): Explanation {
  const lines = names.map(({ name }) => `  ${name.toUpperCase()}: ${args[name]?.description ?? ''}`)
  return { message: [`${id} needs ${names.map(({ name }) => name.toUpperCase()).join(' and ')}:`, ...lines].join('\n') }
}

function unexpected(given: readonly string[], { id, args }: UsedCommand): Explanation {
  const names = Object.keys(args).map((name) => name.toUpperCase())
  const values = given.map(shown).join(', ')
  return {
    message:
      names.length === 0
        ? `${id} takes no arguments, but got ${values}.`
        : `${id} takes only ${names.join(' and ')}, but also got ${values}.`,
  }
}

type Rule = [
  pattern: RegExp,
  explain: (groups: Record<string, string>, flag: string, command: UsedCommand) => Explanation,
]

const rules: readonly Rule[] = [
  [
    /^Expected (?:(?<flag>--[^=\s]+)=)?(?<value>.*) to be one of: (?<options>.*)$/s,
    ({ flag, value, options }, _flag, command) => notOneOf(flag ?? argumentOf(options!, command), value!, options!),
  ],
  [
    /^Expected an integer but received: ?(?<value>.*)$/,
    ({ value }, flag) => ({ message: `${flag}: expected a whole number, not ${shown(value!)}` }),
  ],
  [
    /^Expected an integer greater than or equal to (?<bound>\d+) but received: ?(?<value>.*)$/,
    ({ bound, value }, flag) => ({ message: `${flag}: expected a whole number from ${bound}, not ${shown(value!)}` }),
  ],
  [
    /^Expected an integer less than or equal to (?<bound>\d+) but received: ?(?<value>.*)$/,
    ({ bound, value }, flag) => ({ message: `${flag}: expected a whole number up to ${bound}, not ${shown(value!)}` }),
  ],
  [
    /^Flag (?<flag>--\S+) expects one of these values: (?<options>.*)$/,
    ({ flag, options }) => ({ message: `${flag} needs a value: one of ${options}.` }),
  ],
  [/^Flag (?<flag>--\S+) expects a value$/, ({ flag }) => ({ message: `${flag} needs a value.` })],
  [
    /^Flag (?<flag>--\S+) can only be specified once$/,
    ({ flag }) => ({ message: `${flag} was given more than once.` }),
  ],
  [
    /^(?<one>--[^=\s]+)(?:=.*)? cannot also be provided when using (?<other>--\S+)$/,
    ({ one, other }) => ({ message: `${[one, other].toSorted().join(' and ')} cannot be combined.` }),
  ],
  [
    /^All of the following must be provided when using (?<flag>--\S+): (?<needed>.*)$/,
    ({ flag, needed }) => ({ message: `${flag} also needs ${needed}.` }),
  ],
  [/^Missing required flag (?<name>\S+)$/, ({ name }) => ({ message: `--${name} is missing.` })],
]

function explainLine(line: string, lines: readonly string[], command: UsedCommand): Explanation | null {
  const flag = /^Parsing (--\S+)/.exec(lines[0] ?? '')?.[1] ?? 'the argument'
  for (const [pattern, explainRule] of rules) {
    const match = pattern.exec(line)
    if (match !== null) return explainRule(match.groups as Record<string, string>, flag, command)
  }
  return null
}

/** Finds the argument by its options, because the parser does not name it. */
function argumentOf(options: string, { args }: UsedCommand): string {
  const name = Object.keys(args).find((each) => args[each]?.options?.join(', ') === options)
  return name?.toUpperCase() ?? 'the argument'
}

function notOneOf(name: string, value: string, options: string): Explanation {
  const guess = closest(value, options.split(', '))
  return {
    message: `${name}: expected one of ${options}, not ${shown(value)}`,
    hint: guess === null ? null : `Did you mean ${guess}?`,
  }
}

function shown(value: string): string {
  return JSON.stringify(value.length > maxShownLength ? `${value.slice(0, maxShownLength)}…` : value)
}
