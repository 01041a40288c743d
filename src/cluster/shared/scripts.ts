import { hash } from 'node:crypto'
import type { Use } from './refusals.ts'

/** A script that Redis runs on one key as one command. */
export interface Script {
  use: Use
  source: string
  sha: string
}

function script(use: Use, source: string): Script {
  return { use, source, sha: hash('sha1', source, 'hex') }
}

/** The value of a field, unless it is longer than any page. */
export const readField = script(
  'read',
  `if redis.call('HSTRLEN', KEYS[1], ARGV[1]) > tonumber(ARGV[2]) then return false end
return redis.call('HGET', KEYS[1], ARGV[1])`,
)

/**
 * Sets a field, and lets the hash live at least as long as it does. Visitors can make up variants: when there are too many of them, all
 * pages of the URL are dropped.
 */
export const writeField = script(
  'write',
  `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`,
)

/** Deletes a lock, unless it has expired and belongs to another node now. */
export const releaseLock = script(
  'write',
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,
)

/** Renews a lock, unless it now belongs to another node. */
export const renewLock = script(
  'write',
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`,
)

export const scripts: readonly Script[] = [readField, writeField, releaseLock, renewLock]
