import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy } from './faults.ts'

/**
 * How long SQLite itself may wait for a lock, in milliseconds. It blocks the event loop for that long,
 * so the waiting is done here instead, between attempts.
 */
export const busyTimeout = 1

/** Callers wait this long for another process's lock before they are told (milliseconds). */
export const patience = 5000

/** Runs `attempt` until no other connection's lock stops it; throws its last error after `patience`. */
export async function retryWhileBusy<T>(attempt: () => T): Promise<T> {
  const until = performance.now() + patience
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    // Spread, so that several waiting processes do not collide at every attempt.
    await sleep(5 + Math.random() * 20)
  }
}
