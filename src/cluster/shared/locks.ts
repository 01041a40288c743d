import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { releaseLock } from './scripts.ts'
import type { Server } from './server.ts'

/** How long a node that died keeps the others waiting, in milliseconds. */
const lockFor = 5_000
/** How long a node waits for the fetch of another one, in milliseconds. */
export const waitFor = 1_000
/** The pauses between two looks at another node's lock, in milliseconds. */
const firstPause = 5
const longestPause = 50

/** A lock of this node. */
export interface Lock {
  release(): Promise<unknown>
}

/** Takes the lock on a page; null while another node has it. @throws Error while Redis fails, when everybody fetches */
export async function takeLock(server: Server, key: string): Promise<Lock | null> {
  const name = server.names('write').lock(key)
  const token = randomBytes(12).toString('base64url')
  const reply = await server.run('write', ['SET', name, token, 'NX', 'PX', String(lockFor)])
  return reply === null ? null : { release: () => server.script(releaseLock, name, token) }
}

/** Resolves when the lock of another node has ended, Redis fails, or `longest` milliseconds are over. */
export async function lockEnds(server: Server, key: string, longest: number): Promise<void> {
  const until = performance.now() + longest
  for (let wait = firstPause; performance.now() < until; wait = Math.min(longestPause, wait * 2)) {
    await pause(Math.min(wait, Math.max(0, until - performance.now())))
    try {
      if ((await server.run('read', ['EXISTS', server.names('read').lock(key)])) === 0) return
    } catch {
      return
    }
  }
}
