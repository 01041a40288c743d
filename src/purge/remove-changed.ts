import { setTimeout as pause } from 'node:timers/promises'
import type { PurgeCluster } from '../cluster/purge-cluster.ts'
import type { Removal } from '../cluster/removal.ts'
import { PagecacheError } from '../errors.ts'
import type { Gate } from '../lib/gate.ts'
import type { SharedRemoval } from '../pages/page-store.ts'
import type { RemovalGroups } from './removal-groups.ts'

/** Where changes by visitors are numbered. */
export interface Changing {
  /** The other nodes; null without any. */
  cluster: Pick<PurgeCluster, 'appendUnlogged' | 'confirm'> | null
  /** One at a time: while another machine holds the lock of the clock, they must not take all connections from purges. */
  numbering: Gate
}

/** How long the answer to a visitor waits for the other nodes, in milliseconds: longer than the lease of one that died. */
const usualPatience = 3_000

/**
 * Removes from all nodes the pages that a visitor's request has changed. Has no log entry, unlike a purge, but a number in their order
 * (docs/decisions/0127-changes-by-visitors-on-all-nodes.md).
 *
 * @param here removes them from this node, which comes first: it needs no database
 * @returns the number of pages of this node
 * @throws STORE_BUSY where another node has not applied it in time, and what `here` and the database throw
 */
export async function removeChanged(
  { cluster, numbering }: Changing,
  asked: Omit<SharedRemoval, 'trace'>,
  here: Pick<RemovalGroups, 'remove'>,
  patience = usualPatience,
): Promise<number> {
  const pages = await here.remove(asked)
  if (cluster === null) return pages
  const removal: Removal = { ...asked.selection, ...(asked.soft === true && { soft: true }) }
  const elsewhere = async () => {
    const purge = await numbering.pass(() => cluster.appendUnlogged([removal]))
    // No visitor waits for longer. Confirmations that continued would add up, and take the connections that purges need.
    await cluster.confirm(purge, patience)
  }
  const late = new AbortController()
  const removed = elsewhere()
  // It may fail after the visitor has been answered.
  removed.catch(() => {})
  const isDone = await Promise.race([
    removed.then(() => true),
    pause(patience, false, { signal: late.signal }).catch(() => false),
  ]).finally(() => late.abort())
  if (isDone) return pages
  throw new PagecacheError('STORE_BUSY', `Other nodes have not removed the pages within ${patience / 1000} s`, {
    hint: 'See them with: pagecache cluster:nodes',
  })
}
