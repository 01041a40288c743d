import type { LoadedConfig } from '../config/load.ts'

/** The result of a reload: the configuration in use from now on (null: the previous one), and what failed. */
export interface Reloaded {
  loaded: LoadedConfig | null
  error: string | null
}

export function notReloaded(error: string): Reloaded {
  return { loaded: null, error }
}
