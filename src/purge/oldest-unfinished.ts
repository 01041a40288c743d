import type { PurgeCluster } from '../cluster/purge-cluster.ts'
import type { RecordsDatabase } from '../records/schema.ts'

/** Most unfinished invalidations that are looked at; they are the oldest. */
const most = 100

/** The number of the oldest purge that is not carried out, in the order of all nodes; null for none. */
export async function oldestUnfinished(
  db: RecordsDatabase,
  cluster: Pick<PurgeCluster, 'oldestOf'>,
): Promise<number | null> {
  const rows = await db
    .selectFrom('invalidations')
    .select('id')
    .where('intent', 'is not', null)
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.length === 0 ? null : cluster.oldestOf(rows.map(({ id }) => id))
}
