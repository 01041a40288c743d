import { invalidate, type PurgingOptions } from './invalidate.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'

/** The purges of one environment, as the app opens them. */
export interface Purging {
  /** Drops pages: see `invalidate`. */
  invalidate(invalidation: Invalidation): Promise<Invalidated>
  close(): Promise<void>
}

export async function openPurging(options: PurgingOptions): Promise<Purging> {
  return {
    invalidate: (invalidation) => invalidate(options, invalidation),
    close: async () => {},
  }
}
