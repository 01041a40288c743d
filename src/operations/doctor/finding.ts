import type { App } from '../../app.ts'

/** What one check of `doctor` found. Anything but `passed` says what to do about it. */
export interface Finding {
  name: string
  status: 'passed' | 'warned' | 'failed'
  message: string
  remedy: string | null
}

/** A check; it never throws for what it is there to find. */
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
