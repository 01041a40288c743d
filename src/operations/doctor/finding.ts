import type { App } from '../../app.ts'
import { PagecacheError } from '../../errors.ts'

/** The result of one check. A warning or a failure says what to do about it. */
export interface Finding {
  name: string
  status: 'passed' | 'warned' | 'failed'
  message: string
  remedy: string | null
}

/** A check of `doctor`. It reports problems as findings and does not throw for them. */
export type Check = (app: App, signal: AbortSignal) => Promise<Finding[]>

export function passed(name: string, message: string): Finding {
  return { name, status: 'passed', message, remedy: null }
}

export function warned(name: string, message: string, remedy: string): Finding {
  return { name, status: 'warned', message, remedy }
}

export function failed(name: string, message: string, remedy: string): Finding {
  return { name, status: 'failed', message, remedy }
}

/** Runs a check that reads the records or the page store, and reports their errors as a finding. */
export async function attempt(name: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    const hint = error instanceof PagecacheError ? error.hint : null
    return [failed(name, (error as Error).message, hint ?? 'Fix this error, then run pagecache doctor again.')]
  }
}
