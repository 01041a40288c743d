import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy } from './errors.ts'

/** How long SQLite may wait for a lock, in milliseconds. That blocks the event loop, so `retryWhileBusy` waits between attempts instead. */
export const busyTimeout = 1

/** How long callers wait for another process's lock (milliseconds). */
const maxWait = 5000
/** Longest mean pause between two attempts (milliseconds). Most locks are held for about one. */
const maxPause = 16

/**
 * Repeats `attempt` while another connection's lock blocks it, which shows in a busy error or, with `isBlocked`, in its value. After
 * `maxWait` it throws the last error or returns the last value.
 */
export async function retryWhileBusy<T>(attempt: () => T, isBlocked: (value: T) => boolean = () => false): Promise<T> {
  const until = performance.now() + maxWait
  for (let pause = 1; ; pause = Math.min(2 * pause, maxPause)) {
    try {
      const value = attempt()
      if (!isBlocked(value) || performance.now() >= until) return value
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    // Random, so that several waiting processes do not collide at every attempt.
    await sleep(pause * (0.5 + Math.random()))
  }
}
