import { hourOf } from '../../lib/moment.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { givenRows, prepareRows } from '../../records/statements.ts'
import type { PurgeDeliveryRow } from '../../records/purge-rows.ts'
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
  await setResults.execute(
    transaction,
    settled.map(({ purgeId, status, attempts, responseTime, error }) => ({
      purge_id: purgeId,
      proxy,
      status,
      attempts,
      response_time: responseTime,
      error,
      keeps_key: Number(status !== 'delivered'),
    })),
  )
  const delivered = settled.filter(({ status }) => status === 'delivered')
  const logged = new Map(
    (
      await findPurges.execute(
        transaction,
        delivered.map(({ purgeId }) => ({ id: purgeId })),
      )
    ).map((row) => [row.id, row]),
  )
  await dropDeliveries.execute(
    transaction,
    delivered.flatMap(({ purgeId }) => (logged.has(purgeId) ? [] : [{ purge_id: purgeId, proxy }])),
  )
  const slower = delivered.flatMap(({ purgeId, responseTime }) => {
    const purge = logged.get(purgeId)
    const isSlower = purge !== undefined && responseTime !== null && responseTime > (purge.response_time ?? -1)
    return isSlower ? [{ purge, responseTime }] : []
  })
  await raiseResponseTimes(transaction, slower)
}

interface Result extends Pick<PurgeDeliveryRow, 'purge_id' | 'proxy' | 'status' | 'response_time' | 'error'> {
  attempts: number
  /** 1 or 0. */
  keeps_key: number
}

interface LoggedPurge {
  id: number
  created_at: number
  /** Milliseconds. */
  response_time: number | null
}

async function raiseResponseTimes(
  transaction: RecordsTransaction,
  slower: readonly { purge: LoggedPurge; responseTime: number }[],
): Promise<void> {
  await setResponseTimes.execute(
    transaction,
    slower.map(({ purge: { id }, responseTime }) => ({ response_time: responseTime, id })),
  )
  for (const [hour, same] of Map.groupBy(slower, ({ purge }) => hourOf(purge.created_at))) {
    await addToHour(transaction, hour, {
      responses: same.filter(({ purge }) => purge.response_time === null).length,
      responseTime: same.reduce((sum, { purge, responseTime }) => sum + responseTime - (purge.response_time ?? 0), 0),
    })
  }
}

const setResults = prepareRows<Result>(
  ['purge_id', 'proxy', 'status', 'attempts', 'response_time', 'error', 'keeps_key'],
  (rows, db) =>
    db
      .updateTable('purge_deliveries')
      .from(
        givenRows(rows, {
          purge_id: 'bigint',
          proxy: 'text',
          status: 'text',
          attempts: 'bigint',
          response_time: 'double precision',
          error: 'text',
          keeps_key: 'bigint',
        }),
      )
      .set((eb) => ({
        status: eb.ref('given.status'),
        attempts: eb.ref('given.attempts'),
        response_time: eb.ref('given.response_time'),
        error: eb.ref('given.error'),
        key: eb
          .case()
          .when('given.keeps_key', '=', eb.lit(1))
          .then(eb.ref('purge_deliveries.key'))
          .else(eb.lit(null))
          .end(),
      }))
      .whereRef('purge_deliveries.purge_id', '=', 'given.purge_id')
      .whereRef('purge_deliveries.proxy', '=', 'given.proxy'),
)

const findPurges = prepareRows<{ id: number }, LoggedPurge>(['id'], (rows, db) =>
  db
    .selectFrom(givenRows(rows, { id: 'bigint' }))
    .innerJoin('purges', 'purges.id', 'given.id')
    .select(['purges.id', 'purges.created_at', 'purges.response_time']),
)

const dropDeliveries = prepareRows<{ purge_id: number; proxy: string }>(['purge_id', 'proxy'], (rows, db) =>
  db.deleteFrom('purge_deliveries').where((eb) => eb.or(rows.map((row) => eb.and(row)))),
)

const setResponseTimes = prepareRows<{ response_time: number; id: number }>(['response_time', 'id'], (rows, db) =>
  db
    .updateTable('purges')
    .from(givenRows(rows, { response_time: 'double precision', id: 'bigint' }))
    .set((eb) => ({ response_time: eb.ref('given.response_time') }))
    .whereRef('purges.id', '=', 'given.id'),
)
