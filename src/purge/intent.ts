import { PagecacheError } from '../errors.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { ProcessIdentity } from '../queue/process-identity.ts'
import type { NewMessage, Queue } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { Invalidation } from './invalidation.ts'
import { toKeys, type PurgeKey } from './purge-key.ts'
import { toGroups, type ClearDirectory, type Group } from './take-locally.ts'

export interface PurgingOptions {
  records: Records
  pages: PageStore
  queue: Pick<Queue, 'dispatch'>
  /** The wall clock, in milliseconds since the epoch. */
  now: () => number
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
  /** This process, as the owner of what it has begun. */
  owner: PurgeOwner
  /** Threads of this process that ended over their work. */
  endedThreads?: readonly number[]
  /** Dispatched with every group of purges; null: nothing is. */
  followUp: NewMessage | null
  /** Clears the application cache directory of the environment. */
  clearDirectory: ClearDirectory
}

/** Who carries out an intent: a process, or one of its threads. */
export interface PurgeOwner extends ProcessIdentity {
  /** Counts up in a process; missing where the process purges in its main thread. */
  thread?: number
}

/** Keys that one transaction takes in: some milliseconds. */
export const keysAtOnce = 200

/** An invalidation that was checked. */
export interface Plan {
  invalidation: Invalidation
  keys: readonly PurgeKey[]
  groups: readonly Group[]
}

/** @throws INVALID_INPUT */
export function toPlan(invalidation: Invalidation): Plan {
  const keys = toKeys(invalidation.targets)
  assertSoft(invalidation.soft, keys)
  return { invalidation, keys, groups: toGroups(keys) }
}

function assertSoft(soft: boolean, keys: readonly PurgeKey[]): void {
  if (!soft || keys.every((key) => key.kind === 'url' || key.kind === 'tag' || key.kind === 'entity')) return
  throw new PagecacheError('INVALID_INPUT', 'soft: only URLs, tags and entities can be purged softly')
}

/** Whether an invalidation can share its transactions with others: a few tags and URLs. */
export function isSmall({ keys, groups }: Pick<Plan, 'keys' | 'groups'>): boolean {
  return (
    keys.length <= keysAtOnce && groups.every(({ selection }) => selection.kind === 'tags' || selection.kind === 'urls')
  )
}

/** An invalidation that is durable and still to be done. */
export interface Intent {
  id: number
  at: number
  source: string
  soft: boolean
  keys: readonly PurgeKey[]
  groups: readonly Group[]
  /** Whether the rest of the application cache directory goes too. */
  wholeDirectory: boolean
  /** Purges of the first keys, which are recorded already. */
  recorded: readonly number[]
  /** Whether it was begun before, and may have taken pages already. */
  again: boolean
}

/** An intent whose pages are gone here. */
export interface Done {
  intent: Intent
  /** Pages that went, by each key. */
  counts: readonly number[]
  /** How long that took, in milliseconds. */
  localTime: number
}
