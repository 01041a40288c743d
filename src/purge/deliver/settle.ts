import type { RecordsTransaction } from '../../records/schema.ts'
import { addToHour, hourOf } from '../log/rollups.ts'

/** What became of a purge at a reverse proxy. */
export interface Settled {
  purgeId: number
  status: 'delivered' | 'failed' | 'pending'
  /** Requests that were made for it in all. */
  attempts: number
  /** Milliseconds; null where no answer came. */
  responseTime: number | null
  error: string | null
}

/**
 * Records, in the caller's transaction, what a reverse proxy answered to purges, and keeps their response times and the
 * sums of them right: a purge took as long as its slowest proxy. What is delivered is part of the log: where its purge has left
 * that meanwhile, nothing of it stays.
 */
export async function settleDeliveries(
  transaction: RecordsTransaction,
  proxy: string,
  settled: readonly Settled[],
): Promise<void> {
  for (const same of Map.groupBy(settled, (each) =>
    JSON.stringify([each.status, each.attempts, each.responseTime, each.error]),
  ).values()) {
    const { status, attempts, responseTime, error } = same[0]!
    const ids = same.map(({ purgeId }) => purgeId)
    await transaction
      .updateTable('purge_deliveries')
      .set({ status, attempts, response_time: responseTime, error, ...(status === 'delivered' && { key: null }) })
      .where('proxy', '=', proxy)
      .where('purge_id', 'in', ids)
      .execute()
    if (status !== 'delivered') continue
    await forgetUnlogged(transaction, proxy, ids)
    if (responseTime !== null) await takeTime(transaction, ids, responseTime)
  }
}

async function forgetUnlogged(transaction: RecordsTransaction, proxy: string, ids: readonly number[]): Promise<void> {
  await transaction
    .deleteFrom('purge_deliveries')
    .where('proxy', '=', proxy)
    .where('purge_id', 'in', ids)
    .where('purge_id', 'not in', (eb) => eb.selectFrom('purges').select('id').where('id', 'in', ids))
    .execute()
}

async function takeTime(transaction: RecordsTransaction, ids: readonly number[], responseTime: number): Promise<void> {
  const slower = await transaction
    .selectFrom('purges')
    .select(['id', 'created_at', 'response_time'])
    .where('id', 'in', ids)
    .where((eb) => eb.or([eb('response_time', 'is', null), eb('response_time', '<', responseTime)]))
    .execute()
  if (slower.length === 0) return
  await transaction
    .updateTable('purges')
    .set({ response_time: responseTime })
    .where(
      'id',
      'in',
      slower.map((row) => row.id),
    )
    .execute()
  for (const [hour, rows] of Map.groupBy(slower, (row) => hourOf(row.created_at))) {
    const added = rows.reduce((sum, row) => sum + responseTime - (row.response_time ?? 0), 0)
    await addToHour(transaction, hour, {
      responses: rows.filter((row) => row.response_time === null).length,
      responseTime: added,
    })
  }
}
