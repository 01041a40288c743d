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

/**
 * Resolves when the lock of another node has ended, Redis fails, or after pauses of `longest` milliseconds. The pauses are counted, and
 * not the time: while this node is busy itself, its visitors wait anyway.
 */
export async function lockEnds(server: Server, key: string, longest: number): Promise<void> {
  let wait = firstPause
  for (let waited = 0; waited < longest; waited += wait, wait = Math.min(longestPause, wait * 2)) {
    await pause(Math.min(wait, longest - waited))
    try {
      if ((await server.run('read', ['EXISTS', server.names('read').lock(key)])) === 0) return
    } catch {
      return
    }
  }
}
