import { hourOf } from '../../lib/moment.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { addToHour } from '../log/rollups.ts'

/** The state of a purge at a reverse proxy after an attempt. */
export interface Settled {
  purgeId: number
  status: 'delivered' | 'failed' | 'pending'
  /** Requests made for it in total. */
  attempts: number
  /** Milliseconds; null without a response. */
  responseTime: number | null
  error: string | null
}

/**
 * Records the results of an attempt at one proxy, in the caller's transaction, and updates the purges' response times (that of the
 * slowest proxy) and the sums per hour. A delivered row belongs to the purge log: it is deleted if its purge has left the log.
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
    await deleteUnlogged(transaction, proxy, ids)
    if (responseTime !== null) await raiseResponseTimes(transaction, ids, responseTime)
  }
}

async function deleteUnlogged(transaction: RecordsTransaction, proxy: string, ids: readonly number[]): Promise<void> {
  await transaction
    .deleteFrom('purge_deliveries')
    .where('proxy', '=', proxy)
    .where('purge_id', 'in', ids)
    .where('purge_id', 'not in', (eb) => eb.selectFrom('purges').select('id').where('id', 'in', ids))
    .execute()
}

async function raiseResponseTimes(
  transaction: RecordsTransaction,
  ids: readonly number[],
  responseTime: number,
): Promise<void> {
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
