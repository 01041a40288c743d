import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { lockingTransaction } from '../records/locks.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import { confirm, DatabaseReplaced, MemberBehind, type Confirmed } from './confirm.ts'
import { readClocks } from './lease.ts'
import { storeId } from './node-store.ts'
import { driftMargin } from './protocol.ts'
import { appendPurges, RecordsLedger, type NewPurge } from './records-ledger.ts'
import type { Removal } from './removal.ts'
import { readRemoved, type NodeRemoved } from './removed-pages.ts'

/** A purge in the order of all nodes. */
export interface Numbered {
  number: number
  /** The database that has numbered it. */
  identity: string
}

/** How the purges of this process reach the other nodes. */
export interface PurgeCluster {
  /** Name of this machine. */
  readonly node: string
  /** Numbers purges in the transaction that records their intents. */
  append(transaction: RecordsTransaction, at: number, purges: readonly NewPurge[]): Promise<Numbered[]>
  /** Numbers removals that are in no log, in a transaction of their own, as one purge. */
  appendUnlogged(removals: readonly Removal[]): Promise<Numbered>
  /**
   * Waits until no other node serves a page from before the purge.
   *
   * @param patience how long to wait for a node that is alive but slow, in milliseconds; the lease of a dead node is always awaited
   * @throws STORE_BUSY, STORE_UNREACHABLE when that cannot be known: the purge is recorded and must be confirmed again
   */
  confirm(purge: Numbered, patience?: number): Promise<Confirmed>
  /** The pages that other nodes have removed for confirmed purges. */
  removed(numbers: readonly number[]): Promise<NodeRemoved[]>
  /** The number of a recorded invalidation; null if all nodes have applied it long ago. */
  numberOf(invalidation: number): Promise<Numbered | null>
  /** The lowest number of these invalidations; null for none. */
  oldestOf(invalidations: readonly number[]): Promise<number | null>
}

/** Pause between two looks at the nodes, in milliseconds. */
const pause = 3
/** How long a purge waits for a node that is alive and slow, in milliseconds. */
const usualPatience = 30_000

/**
 * @param directory the application cache directory
 * @param node the name and lease duration of this machine
 */
export function openPurgeCluster(
  db: RecordsDatabase,
  directory: string,
  { node, lease }: { node: string; lease: number },
): PurgeCluster {
  const ledger = new RecordsLedger(db)
  const options = { ledger, lease, mono: () => readClocks().mono, sleep: (ms: number) => sleep(ms), pause }
  const append: PurgeCluster['append'] = async (transaction, at, purges) => {
    const { first, identity } = await appendPurges(transaction, { at, store: storeId(directory), purges })
    return purges.map((_, index) => ({ number: first + index, identity }))
  }
  return {
    node,
    removed: (numbers) => readRemoved(db, numbers),
    append,
    async appendUnlogged(removals) {
      const [purge] = await lockingTransaction(db).execute((transaction) =>
        append(transaction, Date.now(), [{ invalidation: null, removals }]),
      )
      return purge!
    },
    confirm: async (purge, asked = usualPatience) => {
      const patience = Math.max(asked, 2 * lease * driftMargin)
      try {
        return await confirm({ ...options, patience }, { ...purge, store: storeId(directory) })
      } catch (error) {
        throw toPagecacheError(error, patience)
      }
    },
    numberOf: (invalidation) => ledger.numberOf(invalidation),
    oldestOf: (invalidations) => ledger.oldestOf(invalidations),
  }
}

function toPagecacheError(error: unknown, patience: number): unknown {
  if (error instanceof MemberBehind)
    return new PagecacheError('STORE_BUSY', `Node ${error.node} has not applied a purge within ${patience / 1000} s`, {
      hint: 'Check its disk and its load. The purge is carried out as soon as the node has applied it.',
    })
  if (error instanceof DatabaseReplaced)
    return new PagecacheError('STORE_UNREACHABLE', 'Another PostgreSQL server has taken over during a purge', {
      hint: 'Send the purge again: it may have been lost with the last transactions of the earlier server.',
    })
  return error
}
