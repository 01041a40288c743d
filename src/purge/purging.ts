import { invalidate, type PurgingOptions, type TakeAll } from './invalidate.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'

/** The purges of one environment, as the app opens them. */
export interface Purging {
  /** Drops pages: see `invalidate`. `takeAll` is for who removes more than pages. */
  invalidate(invalidation: Invalidation, takeAll?: TakeAll): Promise<Invalidated>
  close(): Promise<void>
}

export async function openPurging(options: PurgingOptions): Promise<Purging> {
  return {
    invalidate: (invalidation, takeAll) => invalidate(options, invalidation, takeAll),
    close: async () => {},
  }
}
