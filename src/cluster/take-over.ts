import { hasEnded, isRunning, type ProcessIdentity } from '../lib/process-identity.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { MemberDescription } from './ledger.ts'

/** A live member writes four times in a lease: after this share of one it is silent. */
const silentAfter = 0.5

/**
 * Clears away what earlier processes of a node have left behind, so that no purge waits for them or names them. A process that has certainly
 * ended serves nothing: its row is deleted. A silent one on another machine or in another container may only be slow: it counts as replaced
 * until it writes again, and purges still wait for the end of its lease. One that runs beside this process, for the same daemon, is not
 * replaced: it may serve without a lease.
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
