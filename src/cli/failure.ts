import { PagecacheError } from '../errors.ts'
import { maskUrls, printable } from '../lib/safe-text.ts'

/** The output and exit code of a command that failed. */
export interface Failure {
  message: string
  code: string
  hint: string | null
  exit: number
  /** Stack of a bug in pagecache; null for errors that the operator can act on. */
  stack: string | null
}

/** Converts any error. The result repeats no command line and no configuration, which may hold secrets. */
export function toFailure(error: unknown): Failure {
  if (error instanceof PagecacheError) {
    const { message, code, hint, exit } = error
    return { message, code, hint, exit, stack: null }
  }
  const unexpected = error instanceof Error ? error : new Error(String(error))
  return { message: unexpected.message, code: 'UNEXPECTED', hint: null, exit: 1, stack: unexpected.stack ?? null }
}

/** The stack of an error and of the errors that caused it, for `--debug`. */
export function describeCauses(error: unknown): string {
  const stacks: string[] = []
  for (let each = error; each instanceof Error && stacks.length < 10; each = each.cause)
    stacks.push(each.stack ?? each.message)
  const lines = maskUrls(stacks.join('\nCaused by: ')).split('\n')
  return lines.map((line) => `${printable(line)}\n`).join('')
}
