import { PagecacheError, type ErrorCode } from '../errors.ts'

/** An error as it crosses a thread's border, where classes are lost. */
export interface ErrorMessage {
  code: ErrorCode | null
  message: string
  hint: string | null
}

export function toMessage(error: unknown): ErrorMessage {
  if (error instanceof PagecacheError) return { code: error.code, message: error.message, hint: error.hint }
  return { code: null, message: error instanceof Error ? (error.stack ?? error.message) : String(error), hint: null }
}

export function fromMessage({ code, message, hint }: ErrorMessage): Error {
  return code === null ? new Error(message) : new PagecacheError(code, message, hint === null ? {} : { hint })
}
