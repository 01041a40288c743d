import { PagecacheError } from '../errors.ts'
import type { Numbered, PurgeCluster } from '../cluster/purge-cluster.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { NewMessage, Queue } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import type { Invalidation } from './invalidation.ts'
import { toKeys, type PurgeKey } from './purge-key.ts'
import { toGroups, type ClearDirectory, type Group } from './remove-locally.ts'

/** The purge budget: `purge.softAbove` in the configuration (docs/decisions/0095-purge-budget.md). */
export interface PurgeBudget {
  /** A tag on more than this share of all pages is purged softly. */
  softAbove: number
  /** Pages with a tag below which its purge stays hard; absent: the default of `softenedOf`. */
  fewest?: number
  /** The message that warms these pages again, dispatched with their purge. */
  followUp: NewMessage
}

export interface PurgingOptions {
  records: Records
  pages: PageStore
  queue: Pick<Queue, 'dispatch'>
  /** The wall clock, in milliseconds since the epoch. */
  now: () => number
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
  /** This process, as the owner of the intents that it starts. */
  owner: PurgeOwner
  /** Threads of this process that ended with unfinished intents. */
  endedThreads?: readonly number[]
  /** A message dispatched with every group of purges; null for none. */
  followUp: NewMessage | null
  /** Null: purges of any tag remove its pages. */
  budget: PurgeBudget | null
  /** Clears the application cache directory of the environment. */
  clearDirectory: ClearDirectory
  /** The other nodes; missing on SQLite, which one machine has to itself. */
  cluster?: PurgeCluster | null | undefined
}

/** The process or thread that carries out an intent. */
export interface PurgeOwner extends ProcessIdentity {
  /** The thread's id; missing if the process purges in its main thread. */
  thread?: number
}

/** Most keys of one transaction, which then takes a few milliseconds. */
export const maxKeysPerTransaction = 200

/** A validated invalidation with its keys and removals. */
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
  throw new PagecacheError('INVALID_INPUT', 'soft: only URLs, tags and entities can be soft-purged')
}

/** Whether an invalidation can share transactions with others: a few tags and URLs. */
export function isSmall({ keys, groups }: Pick<Plan, 'keys' | 'groups'>): boolean {
  return (
    keys.length <= maxKeysPerTransaction &&
    groups.every(({ selection }) => selection.kind === 'tags' || selection.kind === 'urls')
  )
}

/** An invalidation that is recorded but not yet carried out. */
export interface Intent {
  id: number
  at: number
  source: string
  soft: boolean
  keys: readonly PurgeKey[]
  groups: readonly Group[]
  /** Whether to clear the whole application cache directory with the pages. */
  wholeDirectory: boolean
  /** Row numbers of the purges of the first keys, which are already recorded. */
  recorded: readonly number[]
  /** Its place in the order of all nodes; null without other nodes, and once all of them have applied it. */
  clock: Numbered | null
  /** Whether it was started before and may already have removed pages. */
  again: boolean
}

/** An intent whose pages are removed from this cache. */
export interface LocallyDone {
  intent: Intent
  /** Removed pages, in the order of the keys. */
  counts: readonly number[]
  /** Duration of the local removal, in milliseconds. */
  localTime: number
}

/** An intent whose pages were removed from this cache together with those of others. */
export interface RemovedTogether extends LocallyDone {
  /** The URLs of the removed pages, in the order of the keys. */
  urls: readonly (readonly string[])[]
}
