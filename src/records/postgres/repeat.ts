import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../../errors.ts'
import { isRepeatable } from './errors.ts'

/** How long a transaction is repeated (milliseconds), as long as callers wait for SQLite's lock. */
const maxWait = 5000
/** How long a process tries to connect for the first time (milliseconds). A daemon that starts must not keep its visitors waiting. */
const maxFirstWait = 1000
/** Longest pause between two attempts (milliseconds). */
const maxPause = 200

/** What is known about the server in this thread. While it is `away`, nothing is repeated because of that: every caller would wait in vain. */
let server: 'unknown' | 'there' | 'away' = 'unknown'
const patience = { unknown: maxFirstWait, there: maxWait, away: 0 }

/** Repeats a transaction or a statement that conflicted with others or lost its connection, for `maxWait`; then throws its error. */
export async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  const started = performance.now()
  for (let pause = 2; ; pause = Math.min(maxPause, pause * 2)) {
    try {
      const value = await attempt()
      server = 'there'
      return value
    } catch (error) {
      const wait = isUnreachable(error) ? patience[server] : maxWait
      if (!isRepeatable(error)) throw error
      if (performance.now() - started >= wait) {
        if (isUnreachable(error)) server = 'away'
        throw error
      }
    }
    // Random, so that conflicting transactions do not meet again at once.
    await sleep(pause * Math.random())
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof PagecacheError && error.code === 'STORE_UNREACHABLE'
}
