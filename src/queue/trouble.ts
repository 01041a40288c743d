import { PagecacheError } from '../errors.ts'

/** True where the records are locked, full or lost: what passes by itself or is put right by an operator, and is waited for. */
export function isRecordsTrouble(error: unknown): error is PagecacheError {
  return error instanceof PagecacheError && ['STORE_BUSY', 'STORE_FULL', 'STORE_LOST'].includes(error.code)
}
