import { setTimeout as wait } from 'node:timers/promises'

/** Time as a worker needs it, so that a test can be its own clock. */
export interface Timing {
  /** Monotonic milliseconds. */
  now(): number
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>
}

export const realTiming: Timing = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => wait(milliseconds, undefined, { signal }).catch(() => {}),
}
