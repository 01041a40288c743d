import { dayLength } from '../../lib/moment.ts'
import { prepareRows } from '../../records/statements.ts'
import type { RecordsTransaction } from '../../records/schema.ts'

/** The statistics cover exactly the last 24 hours, which touch 25 clock hours: the first and the last in part. */
export const windowLength = dayLength
export const windowHours = 25

/**
 * Amounts added to the sums of an hour; negative numbers subtract. They are added in the transaction that inserts or deletes the rows, so
 * that the sums always equal the rows.
 */
export interface HourSums {
  purges?: number
  invalidations?: number
  responses?: number
  /** Milliseconds. */
  responseTime?: number
}

export async function addToHour(transaction: RecordsTransaction, hour: number, sums: HourSums): Promise<void> {
  const { purges = 0, invalidations = 0, responses = 0, responseTime = 0 } = sums
  await addHours.execute(transaction, [{ hour, purges, invalidations, responses, response_time: responseTime }])
}

const addHours = prepareRows<{
  hour: number
  purges: number
  invalidations: number
  responses: number
  response_time: number
}>(['hour', 'purges', 'invalidations', 'responses', 'response_time'], (rows, db) =>
  db
    .insertInto('purge_hours')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('hour').doUpdateSet((eb) => ({
        purges: eb('purge_hours.purges', '+', eb.ref('excluded.purges')),
        invalidations: eb('purge_hours.invalidations', '+', eb.ref('excluded.invalidations')),
        responses: eb('purge_hours.responses', '+', eb.ref('excluded.responses')),
        response_time: eb('purge_hours.response_time', '+', eb.ref('excluded.response_time')),
      })),
    ),
)

/** Adds to the numbers of keys by the hour of their last purge; negative numbers subtract. */
export async function addToKeyHours(
  transaction: RecordsTransaction,
  kind: 'url' | 'tag',
  changes: ReadonlyMap<number, number>,
): Promise<void> {
  const rows = [...changes].flatMap(([hour, keys]) => (keys === 0 ? [] : [{ kind, hour, keys }]))
  await addKeys.execute(transaction, rows)
}

const addKeys = prepareRows<{ kind: 'url' | 'tag'; hour: number; keys: number }>(['kind', 'hour', 'keys'], (rows, db) =>
  db
    .insertInto('purge_key_hours')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['kind', 'hour'])
        .doUpdateSet((eb) => ({ keys: eb('purge_key_hours.keys', '+', eb.ref('excluded.keys')) })),
    ),
)

/** Collects how keys move between the hours of their last purge. */
export class KeyMoves {
  readonly changes = new Map<number, number>()

  /** @param from null for a new key @param to null for a deleted key */
  move(from: number | null, to: number | null): void {
    if (from === to) return
    if (from !== null) this.changes.set(from, (this.changes.get(from) ?? 0) - 1)
    if (to !== null) this.changes.set(to, (this.changes.get(to) ?? 0) + 1)
  }
}

/** Deletes hours without purges and invalidations. */
export async function dropEmptyHours(transaction: RecordsTransaction): Promise<void> {
  await transaction.deleteFrom('purge_hours').where('purges', '<=', 0).where('invalidations', '<=', 0).execute()
  await transaction.deleteFrom('purge_key_hours').where('keys', '<=', 0).execute()
}
