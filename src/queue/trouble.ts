import { PagecacheError } from '../errors.ts'

/** True where the records are locked or full: what passes by itself, and is waited for. */
export function isRecordsTrouble(error: unknown): error is PagecacheError {
  return error instanceof PagecacheError && (error.code === 'STORE_BUSY' || error.code === 'STORE_FULL')
}
