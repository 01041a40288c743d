import { setTimeout as sleep } from 'node:timers/promises'
import { isRepeatable } from './errors.ts'

/** How long a transaction is repeated (milliseconds), as long as callers wait for SQLite's lock. */
const maxWait = 5000
/** Longest pause between two attempts (milliseconds). */
const maxPause = 200

/** Repeats a transaction or a statement that conflicted with others or lost its connection, for `maxWait`; then throws its error. */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + maxWait
  for (let pause = 2; ; pause = Math.min(maxPause, pause * 2)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isRepeatable(error) || performance.now() >= until) throw error
    }
    // Random, so that conflicting transactions do not meet again at once.
    await sleep(pause * Math.random())
  }
}
