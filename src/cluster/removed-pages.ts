import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { RemovedPages } from './ledger.ts'

/** Pages that a purge has removed from the store of a node. */
export interface NodeRemoved extends RemovedPages {
  /** Name of the node. */
  node: string
}

/** Adds the counts of pages that purges have removed from a member's store. */
export async function addRemoved(
  transaction: RecordsTransaction,
  member: string,
  removed: readonly RemovedPages[],
): Promise<void> {
  const found = await transaction
    .selectFrom('cluster_members')
    .select('node')
    .where('id', '=', member)
    .executeTakeFirst()
  if (found === undefined) return
  const rows = removed.map(({ number, counts }) => ({ number, member, ...found, counts: JSON.stringify(counts) }))
  await transaction
    .insertInto('cluster_removed')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['number', 'member']).doNothing())
    .execute()
}

/** Reads how many pages members have removed for these purges. */
export async function readRemoved(db: RecordsDatabase, numbers: readonly number[]): Promise<NodeRemoved[]> {
  const rows = await db
    .selectFrom('cluster_removed')
    .select(['node', 'number', 'counts'])
    .where('number', 'in', numbers)
    .execute()
  return rows.map(({ counts, ...row }) => ({ ...row, counts: JSON.parse(counts) as number[] }))
}
