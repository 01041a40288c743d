import { PagecacheError } from '../errors.ts'

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
