import { hasEnded, isRunning, type ProcessIdentity } from '../lib/process-identity.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { MemberDescription } from './ledger.ts'

/** The share of a lease after which a member counts as silent: a live one writes four times per lease. */
const silentAfter = 0.5

/**
 * Removes the records of earlier processes of a node, so that no purge waits for them or names them. The row of a process that has
 * certainly ended is deleted. A silent process on another machine or in another container may only be slow: it counts as replaced until it
 * writes again, and purges still wait for the end of its lease. Other processes of the same daemon are not replaced: they may serve without
 * a lease.
 *
 * @param now the clock of the database, in milliseconds
 */
export async function takeOver(
  transaction: RecordsTransaction,
  { id, node, store, lease }: MemberDescription,
  self: ProcessIdentity,
  now: number,
): Promise<void> {
  const others = await transaction
    .selectFrom('cluster_members')
    .select(['id', 'store', 'process', 'seen_at'])
    .where((eb) => eb.or([eb('node', '=', node), eb('store', '=', store)]))
    .where('id', '!=', id)
    .execute()
  const ended: string[] = []
  const silent: string[] = []
  for (const other of others) {
    const identity = other.process === null ? null : (JSON.parse(other.process) as ProcessIdentity)
    if (identity !== null && hasEnded(identity, self)) ended.push(other.id)
    else if (other.seen_at < now - lease * silentAfter && (identity === null || !isRunning(identity, self)))
      silent.push(other.id)
  }
  if (ended.length > 0) await transaction.deleteFrom('cluster_members').where('id', 'in', ended).execute()
  if (silent.length > 0)
    await transaction
      .updateTable('cluster_members')
      .set({ replaced: 1 })
      .where('id', 'in', silent)
      .where('node', '=', node)
      .execute()
}
