import type { Removal } from './removal.ts'

/**
 * `joining`: the node has registered and does not serve yet. `live`: purges wait for it. `suspect`: it was silent for longer than its
 * lease, and must be admitted again before it serves. `gone`: it was suspect for so long that purges which it has not applied may be
 * deleted.
 */
type MemberState = 'joining' | 'live' | 'suspect' | 'gone'

/** A serving process, as it describes itself to the others. */
export interface MemberDescription {
  /** Unique to the process. */
  id: string
  /** The name of its machine (`cluster.node`). */
  node: string
  /** Identifies the page store, which all processes of one project directory on one machine share. */
  store: string
  /** Duration of its lease, in milliseconds. */
  lease: number
  /** How long it serves without a lease, in milliseconds; 0 in strict mode. */
  alone: number
}

/** A serving process, as the database has it. */
export interface Member extends MemberDescription {
  state: MemberState
  /** The number of the last purge that it has applied. */
  position: number
  /** Grows with each write of the process. */
  renewal: number
  /** Another process has started with the same node name, and this one has not written since, so it counts as ended. */
  isReplaced: boolean
  /** How long ago it was marked as suspect, by the clock of the database (milliseconds); 0 for other states. */
  suspectFor: number
}

/** A numbered purge. */
export interface Purge {
  number: number
  /** The page store from which its own process removes the pages. */
  store: string
  removals: readonly Removal[]
}

/** The purges after a position, as one read of the database shows them. */
export interface PurgesRead {
  /** Identifies the database and its history. It changes when another server takes over or the database is restored. */
  identity: string
  /** The number of the last purge. */
  last: number
  /** Purges up to this number may have been deleted. */
  floor: number
  /** Number of the last request for the figures of all nodes. */
  question: number
  /** In order, without gaps; a limited number. */
  purges: readonly Purge[]
}

/** How many pages a purge has removed from a store, by key, in the order of the purge's removals. */
export interface RemovedPages {
  number: number
  counts: readonly number[]
}

/** A member's report to the other nodes, sent with a write. */
export interface MemberReport {
  /** Counts for the purges that this write confirms. May be sent again. */
  removed: readonly RemovedPages[]
  /** Figures of its store, as JSON: the answer to the request with this number. */
  answer: { question: number; statistics: string | null } | null
}

/** The part of a member's write that makes it safe to arrive late, twice or on another server. */
export interface MemberWrite {
  id: string
  /** The database in which the member has applied purges; any other one refuses the write. */
  identity: string
  position: number
  /** The value of `renewal` that the member knows to have been written. */
  confirmed: number
  /** The value that it writes now: larger than in all of its earlier writes. */
  renewal: number
}

/**
 * `lost`: the database is not the one that the member knows, or does not have its last write, so purges may be missing in it too.
 */
type Refusal = 'suspect' | 'lost'

export interface MembersRead {
  identity: string
  /**
   * False until leases that an earlier server has granted are over: the members that hold them may have been lost with the last
   * transactions of that server.
   */
  isSettled: boolean
  members: readonly Member[]
}

/** The database that the nodes share. Each call is one transaction. Any of them may fail although it was carried out, or be carried out late. */
export interface Ledger {
  read(after: number): Promise<PurgesRead>
  /**
   * Registers a member as `joining`, unless a later write of this member has been carried out. Removes members of its node that have
   * ended; members that have been silent for a while count as replaced until they write again.
   */
  join(member: MemberDescription & MemberWrite): Promise<void>
  /** Publishes the position of a live member and its report, and extends its lease. */
  renew(write: MemberWrite, report?: MemberReport): Promise<'renewed' | Refusal>
  /**
   * Makes a member live. The number of the last purge at that time is read under the lock of the clock: purges up to it may have been
   * answered without waiting for the member, all later ones wait.
   */
  admit(write: MemberWrite): Promise<{ barrier: number } | 'lost'>
  members(): Promise<MembersRead>
  /** Notes that no lease of an earlier server is left. */
  settle(identity: string): Promise<void>
  /** Marks a live member as suspect if it has not written since; false if it has. */
  suspect(id: string, renewal: number): Promise<boolean>
  /** Removes a member that serves no more. */
  leave(id: string, renewal: number): Promise<void>
}
