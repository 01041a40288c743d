import { PagecacheError } from '../errors.ts'

/** How a command ended that did not succeed: what is printed, and the exit code. */
export interface Failure {
  message: string
  code: string
  hint: string | null
  exit: number
  /** The stack, where it is our bug and not something that the operator can act on. */
  stack: string | null
}

/** Any error as what the operator is told. Nothing of the command line or the configuration is in it. */
export function toFailure(error: unknown): Failure {
  if (error instanceof PagecacheError) {
    const { message, code, hint, exit } = error
    return { message, code, hint, exit, stack: null }
  }
  const unexpected = error instanceof Error ? error : new Error(String(error))
  return { message: unexpected.message, code: 'UNEXPECTED', hint: null, exit: 1, stack: unexpected.stack ?? null }
}
