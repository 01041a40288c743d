import type { LoadedConfig } from '../config/load.ts'
import type { Log } from './log.ts'

/** The result of a reload: the configuration in use from now on (null: the previous one), and what failed. */
export interface Reloaded {
  loaded: LoadedConfig | null
  error: string | null
}

/** Logs on one line why the configuration was not reloaded. */
export function warnNotReloaded(log: Log, error: string): Reloaded {
  const [head = '', ...faults] = error.split('\n').map((line) => line.trim())
  const reason = [head, faults.join('; ')].join(' ').trim()
  log.warn(`The configuration was not reloaded; the previous one stays in use: ${reason}`)
  return notReloaded(error)
}

export function notReloaded(error: string): Reloaded {
  return { loaded: null, error }
}
