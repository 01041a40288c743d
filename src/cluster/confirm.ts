import type { Ledger, Member } from './ledger.ts'
import { driftMargin } from './protocol.ts'

export interface ConfirmOptions {
  ledger: Pick<Ledger, 'members' | 'suspect' | 'settle'>
  /** Duration of leases in this cluster, in milliseconds. */
  lease: number
  /** The monotonic clock, in milliseconds. */
  mono: () => number
  sleep(ms: number): Promise<void>
  /** Pause between two looks at the members, in milliseconds. */
  pause: number
  /** How long a member may renew its lease without applying the purge, in milliseconds. */
  patience: number
}

export interface Confirming {
  /** The number of the purge, or of the last of several. */
  number: number
  /** The database in which it was recorded. */
  identity: string
  /** The store from which this process removes the pages itself: other processes with this store need not apply the purge. */
  store: string
}

/** Names of nodes. */
export interface Confirmed {
  /** Nodes that have applied the purge. */
  live: string[]
  /** No other page store has a live node. */
  isAlone: boolean
  /** Nodes that may continue to serve without a lease. */
  unconfirmed: string[]
}

/** The purge may have been lost with the database. */
export class DatabaseReplaced extends Error {}

/** A member renews its lease, but has not applied the purge in time. */
export class MemberBehind extends Error {
  readonly node: string

  constructor(node: string) {
    super(`Node ${node} is too slow`)
    this.node = node
  }
}

/**
 * Waits until no node serves a page from before a purge: each live one has applied it, or its lease has ended. Then such a member is
 * marked as suspect.
 */
export async function confirm(
  { ledger, lease: longest, mono, sleep, pause, patience }: ConfirmOptions,
  { number, identity, store }: Confirming,
): Promise<Confirmed> {
  const began = mono()
  /** When a renewal was first seen: the lease that it extended began before. */
  const seen = new Map<string, { renewal: number; at: number }>()
  for (;;) {
    const found = await ledger.members()
    const now = mono()
    if (found.identity !== identity) throw new DatabaseReplaced()
    const others = found.members.filter((member) => member.store !== store)
    const waiting = others.filter((member) => member.state === 'live' && member.position < number)
    let marked = 0
    for (const { id, node, renewal, lease } of waiting) {
      const first = seen.get(id)
      if (first?.renewal !== renewal) seen.set(id, { renewal, at: now })
      else if (now - first.at > lease * driftMargin) marked += Number(await ledger.suspect(id, renewal))
      if (now - began > patience) throw new MemberBehind(node)
    }
    const isOver = found.isSettled || now - began > longest * driftMargin
    if (isOver && !found.isSettled) await ledger.settle(identity)
    const live = found.members.filter(({ state }) => state === 'live')
    const isAlone = live.every((member) => member.store === store)
    if (isOver && waiting.length === 0) return { live: namesOf(live), isAlone, unconfirmed: unconfirmed(others) }
    if (marked === 0) await sleep(pause)
  }
}

/** Nodes that were live and may still serve pages without a lease. */
function unconfirmed(members: readonly Member[]): string[] {
  const alone = members.filter(({ state, alone: time, suspectFor, isReplaced }) => {
    return state === 'suspect' && !isReplaced && suspectFor < time * driftMargin
  })
  return namesOf(alone)
}

function namesOf(members: readonly Member[]): string[] {
  return [...new Set(members.map(({ node }) => node))].sort()
}
