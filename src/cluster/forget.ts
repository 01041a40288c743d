import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { formatDuration } from '../lib/format.ts'
import { lockingTransaction } from '../records/locks.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { aloneLeft, stateOf, type MemberTimes } from './nodes.ts'
import { driftMargin } from './protocol.ts'
import { nowOf } from './records-ledger.ts'

/** The id prefix of processes that may have had a lease when they were forgotten. */
const prefix = 'forgotten '

/**
 * Removes a node from the cluster: purges neither wait for it nor name it. A process of it that still runs has its next write refused, ends
 * its lease, and comes back with an empty cache. Waits until no lease is left.
 *
 * @param force also a node that is live, or may still serve pages without a lease
 * @returns the number of processes
 * @throws NOT_FOUND, WRONG_STATE
 */
export async function forgetNode(db: RecordsDatabase, node: string, { force }: { force: boolean }): Promise<number> {
  // Unique: a forgotten process comes back with its old id, and may be forgotten again immediately.
  const own = `${prefix}${randomUUID()} `
  const rows = await lockingTransaction(db).execute(async (transaction) => {
    const now = await nowOf(transaction)
    // Locks the rows, so none of these processes is admitted meanwhile.
    const found = await transaction
      .selectFrom('cluster_members')
      .select(['id', 'state', 'lease', 'alone', 'seen_at', 'replaced'])
      .where('node', '=', node)
      .forUpdate()
      .execute()
    if (found.length === 0)
      throw new PagecacheError('NOT_FOUND', `Unknown node ${node}`, {
        hint: 'See them with: pagecache cluster:nodes',
      })
    if (!force) for (const row of found) assertSilent(node, { ...row, silentFor: now - row.seen_at })
    const leased = found.filter(({ state }) => state === 'live').map(({ id }) => id)
    await transaction.deleteFrom('cluster_members').where('node', '=', node).where('state', '!=', 'live').execute()
    // With its id changed, the process's writes are refused, and purges wait until its lease is over.
    for (const id of leased)
      await transaction
        .updateTable('cluster_members')
        .set({ id: own + id, replaced: 1 })
        .where('id', '=', id)
        .execute()
    return found
  })
  const leases = rows.filter(({ state }) => state === 'live').map(({ lease }) => lease)
  if (leases.length > 0) await sleep(Math.max(...leases) * driftMargin)
  await db.deleteFrom('cluster_members').where('node', '=', node).where('id', 'like', `${own}%`).execute()
  return rows.length
}

/** @throws WRONG_STATE if a process may serve pages */
function assertSilent(node: string, row: MemberTimes & { replaced: number }): void {
  if (stateOf(row) === 'live')
    throw new PagecacheError('WRONG_STATE', `Node ${node} is live`, {
      hint: 'Stop its daemon, which leaves by itself, or use --force: it comes back with an empty cache.',
    })
  const left = row.replaced === 1 ? 0 : aloneLeft(row)
  if (left > 0)
    throw new PagecacheError(
      'WRONG_STATE',
      `Node ${node} is silent, but may serve pages without a lease for another ${formatDuration(Math.ceil(left / 1000))}`,
      {
        hint: 'Use --force only if its daemon has certainly ended: purges no longer say that a forgotten node may serve old pages.',
      },
    )
}
