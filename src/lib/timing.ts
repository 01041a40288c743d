import { setTimeout as wait } from 'node:timers/promises'

/** Time functions for workers, replaceable in tests. */
export interface Timing {
  /** Monotonic time in milliseconds. */
  now(): number
  /** Resolves after a number of milliseconds, or as soon as the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

export const realTiming: Timing = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => wait(milliseconds, undefined, { signal }).catch(() => {}),
}
