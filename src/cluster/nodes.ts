import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordsDatabase } from '../records/schema.ts'
import { readClocks } from './lease.ts'
import type { Member } from './ledger.ts'
import { driftMargin } from './protocol.ts'

/**
 * `live`: serves from its cache under a lease. `suspect`: has no lease, because it is silent or starting. `gone`: has been silent for so
 * long that purges may be deleted without it.
 */
export type NodeState = 'live' | 'suspect' | 'gone'

/** A machine, as operators see it. Durations in milliseconds. */
export interface NodeView {
  name: string
  /** Where its daemon listens, as a URL. */
  address: string | null
  version: string
  /** When the oldest of its processes joined, in milliseconds since the epoch. */
  since: number
  state: NodeState
  /** Purges that it has not applied yet. */
  behind: number
  /** Time until its lease ends unless it is extended; 0 without one. */
  leaseLeft: number
  /** Time since the last write of any of its processes. */
  silentFor: number
}

/** Silence after which a node is gone, in milliseconds: purges may then be deleted before it has applied them. */
export const goneAfter = 10 * 60_000

/** What decides the state of a process. Durations in milliseconds. */
export interface MemberTimes extends Pick<Member, 'state' | 'lease' | 'alone'> {
  /** Time since its last write, by the clock of the database. */
  silentFor: number
}

/** The state of a process. Its row says `suspect` only after the next purge, so silence is checked here. */
export function stateOf({ state, lease, silentFor }: Omit<MemberTimes, 'alone'>): NodeState {
  if (state === 'gone' || (silentFor > goneAfter && silentFor > lease)) return 'gone'
  return state === 'live' && silentFor <= lease * driftMargin ? 'live' : 'suspect'
}

/** How long a process may still serve pages without a lease. Counts from the end of its lease, which it may have extended just before falling silent. */
export function aloneLeft({ state, lease, alone, silentFor }: MemberTimes): number {
  if (alone === 0 || state === 'joining' || stateOf({ state, lease, silentFor }) === 'live') return 0
  return Math.max(0, (lease + alone) * driftMargin - silentFor)
}

/** The nodes of the cluster by name: those with a daemon, and those that ended without leaving. */
export async function readNodes(db: RecordsDatabase): Promise<NodeView[]> {
  const rows = await db
    .selectFrom('cluster_server as server')
    .innerJoin('cluster_members as member', (join) => join.onTrue())
    .leftJoin('cluster_clock as clock', (join) => join.onTrue())
    .select(['server.now', 'clock.number', 'member.node', 'member.address', 'member.version', 'member.since'])
    .select(['member.state', 'member.position', 'member.lease', 'member.seen_at'])
    .where('member.replaced', '=', 0)
    .orderBy('member.node')
    .execute()
  const processes = rows.map(({ now, number, seen_at, position, ...row }) => {
    const silentFor = Math.max(0, now - seen_at)
    const behind = Math.max(0, (number ?? 0) - position)
    return { ...row, silentFor, behind, shown: stateOf({ ...row, silentFor }) }
  })
  return [...Map.groupBy(processes, ({ node }) => node)].map(([name, own]): NodeView => {
    // If other processes of the node still run, those that are gone do not count.
    const present = own.filter(({ shown }) => shown !== 'gone')
    const [shown, state] = present.length === 0 ? [own, 'gone' as const] : [present, worstOf(present)]
    const newest = shown.toSorted((one, other) => other.since - one.since)[0]!
    return {
      name,
      address: newest.address,
      version: newest.version,
      since: Math.min(...shown.map(({ since }) => since)),
      state,
      behind: Math.max(...shown.map(({ behind }) => behind)),
      leaseLeft: state === 'live' ? Math.max(0, Math.min(...shown.map((each) => each.lease - each.silentFor))) : 0,
      silentFor: Math.min(...own.map(({ silentFor }) => silentFor)),
    }
  })
}

function worstOf(processes: readonly { shown: NodeState }[]): NodeState {
  return processes.some(({ shown }) => shown === 'suspect') ? 'suspect' : 'live'
}

/** The page store of a node with its figures. */
export interface StoreStatistics {
  node: string
  store: string
  /** The answer of its node. */
  statistics: unknown
}

/** Pause between two checks for answers, in milliseconds. */
const pause = 5
/** How many leases a node may take to answer. */
const patience = 2

/**
 * Asks every live node for the figures of its page store, and waits for the answers. A node that does not answer within two leases is left
 * out, as one that has no lease is.
 *
 * @param own the store of this process, which is not asked
 * @returns one entry for each store; `isMember`: whether a live node has the own store
 */
export async function askNodes(
  db: RecordsDatabase,
  own: string,
): Promise<{ isMember: boolean; stores: StoreStatistics[] }> {
  const members = () =>
    db
      .selectFrom('cluster_members as member')
      .innerJoin('cluster_server as server', (join) => join.onTrue())
      .select(['member.id', 'member.node', 'member.store', 'member.state', 'member.lease', 'member.seen_at'])
      .select(['member.answered', 'member.statistics', 'server.now'])
      .where('member.state', '=', 'live')
      .execute()
  const isLive = (row: Awaited<ReturnType<typeof members>>[number]) =>
    stateOf({ ...row, silentFor: row.now - row.seen_at }) === 'live'
  let live = (await members()).filter(isLive)
  const isMember = live.some(({ store }) => store === own)
  if (live.every(({ store }) => store === own)) return { isMember, stores: [] }
  const question = await ask(db)
  const asked = readClocks().mono
  for (;;) {
    live = (await members()).filter((row) => isLive(row) && row.store !== own)
    const answered = live.filter((row) => row.answered >= question && row.statistics !== null)
    const byStore = Map.groupBy(answered, ({ store }) => store)
    const isWhole = live.every(({ store, answered: number }) => byStore.has(store) || number >= question)
    const longest = Math.max(0, ...live.map(({ lease }) => lease))
    if (isWhole || readClocks().mono - asked > longest * patience)
      return {
        isMember,
        stores: [...byStore.values()].map(([first]) => {
          const { node, store, statistics } = first!
          return { node, store, statistics: JSON.parse(statistics!) as unknown }
        }),
      }
    await sleep(pause)
  }
}

/** Requests the figures of all nodes. Returns the number of the request. */
async function ask(db: RecordsDatabase): Promise<number> {
  const { number } = await db
    .insertInto('cluster_questions')
    .values({ id: 1, number: 1 })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({ number: eb('cluster_questions.number', '+', 1) })),
    )
    .returning('number')
    .executeTakeFirstOrThrow()
  return number
}
