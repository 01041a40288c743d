import { type Clocks } from '../../src/cluster/lease.ts'
import type { Ledger, MembersRead } from '../../src/cluster/ledger.ts'

/** A change of the protocol that must break the promise; for the tests that prove that the model would notice. */
export interface Mutation {
  /** Changes what a node gets from the database. */
  ledger?(ledger: Ledger): Ledger
  /** Changes what a purge gets from the database. */
  members?(read: MembersRead): MembersRead
  /** Changes the clocks of a node. */
  clocks?(clocks: Clocks): Clocks
  /** Numbers from a sequence instead of a counter row. */
  sequence?: boolean
  /** The lease counts from the answer of the database, not from before it was asked. */
  lateLease?: true
  /** How long purges believe a lease to last, as a share of its duration. */
  believed?: number
}

export type Fault =
  | { kind: 'freeze' | 'sleep' | 'cut' | 'crash'; node: number; at: number; for: number }
  | { kind: 'wall'; node: number; at: number; by: number }
  | { kind: 'down'; at: number; for: number }
  | { kind: 'failover'; at: number; lag: number }

export interface Settings {
  seed: number
  nodes: number
  /** Different pages; each has one tag. */
  pages: number
  /** Duration, in milliseconds. */
  duration: number
  /** Purges and visits of each node, per second. */
  purges: number
  visits: number
  /** Milliseconds that a node serves without a lease; 0: strict. */
  alone: number
  loss: number
  delay: number
  faults: readonly Fault[]
  mutation?: Mutation
}

export interface Outcome {
  /** The first page that a visitor got although a later purge of it was answered; null for none. */
  stale: string | null
  answered: number
  hits: number
  unconfirmed: number
  /** Time from a purge to its answer, in milliseconds. */
  waits: number[]
}
