import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy } from './faults.ts'

/**
 * How long SQLite itself may wait for a lock, in milliseconds. It blocks the event loop for that long,
 * so the waiting is done here instead, between attempts.
 */
export const busyTimeout = 1

/** Callers wait this long for another process's lock before they are told (milliseconds). */
const patience = 5000

/**
 * Runs `attempt` until no other connection's lock stops it, which it says by an error or, where `isStopped` knows it, by its value;
 * after `patience` throws the last error or returns the last value.
 */
export async function retryWhileBusy<T>(attempt: () => T, isStopped: (value: T) => boolean = () => false): Promise<T> {
  const until = performance.now() + patience
  for (;;) {
    try {
      const value = attempt()
      if (!isStopped(value) || performance.now() >= until) return value
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
    }
    // Spread, so that several waiting processes do not collide at every attempt.
    await sleep(5 + Math.random() * 20)
  }
}
