import type { Generated } from 'kysely'

/** The tables of several machines. Times are milliseconds since the epoch, by the clock of the database. */
export interface ClusterTables {
  cluster_clock: ClusterClockRow
  cluster_purges: ClusterPurgeRow
  cluster_members: ClusterMemberRow
  cluster_server: ClusterServerRow
  cluster_secrets: ClusterSecretRow
  cluster_questions: ClusterQuestionRow
  cluster_removed: ClusterRemovedRow
}

interface ClusterSecretRow {
  /** What it is used for. */
  name: string
  /** In base64url. */
  value: string
}

/** The only row of the purge clock, which the first purge or node makes. */
interface ClusterClockRow {
  /** Always 1. */
  id: number
  /** Number of the last purge. */
  number: number
  /** Purges up to this number may have been deleted. */
  floor: number
  /** The server whose nodes were admitted with all pages removed. */
  history: string
  /** The server that has outlived all leases granted by earlier servers. */
  settled: string
}

/** A purge in the order of all nodes. */
interface ClusterPurgeRow {
  number: number
  at: number
  /** The page store from which its own process removes the pages. */
  store: string
  invalidation_id: number | null
  /** JSON list of removals (src/cluster/removal.ts). */
  removals: string
}

/** The only row of the questions, which the first question makes. */
interface ClusterQuestionRow {
  /** Always 1. */
  id: number
  /** Number of the last question for the figures of all nodes. */
  number: number
}

/** Pages that a purge has removed from the store of a live member. */
interface ClusterRemovedRow {
  /** Number of the purge. */
  number: number
  member: string
  node: string
  /** JSON list: the pages of each key, in the order of `cluster_purges.removals`. */
  counts: string
}

/** A serving process. */
interface ClusterMemberRow {
  id: string
  node: string
  store: string
  version: string
  state: 'joining' | 'live' | 'suspect' | 'gone'
  position: number
  renewal: number
  /** Durations in milliseconds. */
  lease: number
  alone: number
  since: number
  seen_at: number
  marked_at: number
  /** Where its daemon listens, as a URL. */
  address: Generated<string | null>
  /** Identity of the process, as JSON. */
  process: Generated<string | null>
  /** 1: another process has started with the name of its node, and it has not written since. */
  replaced: Generated<number>
  /** Number of the question that `statistics` answers. */
  answered: Generated<number>
  /** Figures of its page store, as JSON. */
  statistics: Generated<string | null>
}

/** A view of one row: which server and which of its histories this is, and its clock. */
interface ClusterServerRow {
  identity: string
  now: number
}
