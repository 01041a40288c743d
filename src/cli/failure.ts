import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'

/** How a command ended that did not succeed: what is printed, and the exit code. */
export interface Failure {
  message: string
  code: string
  hint: string | null
  exit: number
  /** The stack, where it is our bug and not something that the operator can act on. */
  stack: string | null
}

/** What the parser's errors carry beside their message. */
interface ParserError extends Error {
  flags?: string[]
  oclif?: { exit?: number }
  parse?: { input?: { flags?: Record<string, unknown> } }
}

/** Any error as what the operator is told. Nothing of the command line or the configuration is in it. */
export function toFailure(error: unknown): Failure {
  if (error instanceof PagecacheError) {
    const { message, code, hint, exit } = error
    return { message, code, hint, exit, stack: null }
  }
  if (isParserError(error)) return toUsageFailure(error)
  const unexpected = error instanceof Error ? error : new Error(String(error))
  return { message: unexpected.message, code: 'UNEXPECTED', hint: null, exit: 1, stack: unexpected.stack ?? null }
}

function isParserError(error: unknown): error is ParserError {
  return error instanceof Error && 'oclif' in error
}

function toUsageFailure(error: ParserError): Failure {
  // What was given to a flag that there is not may be a secret meant for another program.
  const message = error.flags ? `There is no flag ${error.flags.map(withoutValue).join(', ')}.` : parserMessage(error)
  return { message, code: 'USAGE', hint: suggestion(error) ?? 'See --help.', exit: error.oclif?.exit ?? 2, stack: null }
}

function withoutValue(flag: string): string {
  return flag.split('=')[0] ?? flag
}

function parserMessage(error: ParserError): string {
  const [text = '', ...rest] = error.message.replaceAll('\t', '').split('\n').map((line) => line.trim())
  const details = rest.filter((line) => line !== '' && line !== 'See more help with --help')
  return [text.replace(/:$/, details.length > 0 ? ':' : ''), ...details].join('\n  ')
}

function suggestion(error: ParserError): string | null {
  const known = Object.keys(error.parse?.input?.flags ?? {}).map((name) => `--${name}`)
  const flag = error.flags?.map((name) => closest(withoutValue(name), known)).find((guess) => guess !== null)
  if (flag) return `Did you mean ${flag}?`
  const choice = /^Expected (?:--[^=\s]+=)?(.*) to be one of: (.*)$/m.exec(error.message)
  const value = choice && closest(choice[1] ?? '', (choice[2] ?? '').split(', '))
  return value ? `Did you mean ${value}?` : null
}
