import { lockingTransaction } from '../records/locks.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import { nowOf } from './records-ledger.ts'

/**
 * Gives up members that were silent for long, and deletes purges that all others have applied.
 *
 * @param goneAfter after which silence a suspect member is gone (milliseconds)
 * @param keepFor how long purges and members that are gone are kept (milliseconds)
 * @param most how many purges are kept: each POST of a visitor may be one
 */
export async function prune(
  db: RecordsDatabase,
  { goneAfter, keepFor, most }: { goneAfter: number; keepFor: number; most: number },
): Promise<void> {
  await lockingTransaction(db).execute(async (transaction) => {
    const now = await nowOf(transaction)
    await giveUp(transaction, now, goneAfter)
    await transaction
      .deleteFrom('cluster_members')
      .where('state', '=', 'gone')
      .where('seen_at', '<', now - keepFor)
      .execute()
    const floor = await findFloor(transaction, now - keepFor, most)
    if (floor === null) return
    // Locks the clock, so no node that still needs them is admitted.
    await transaction.updateTable('cluster_clock').set({ floor }).where('floor', '<', floor).execute()
    for (const table of ['cluster_purges', 'cluster_removed'] as const)
      await transaction.deleteFrom(table).where('number', '<=', floor).execute()
  })
}

/** Marks members as gone that were silent for long. */
async function giveUp(transaction: RecordsTransaction, now: number, goneAfter: number): Promise<void> {
  await transaction
    .updateTable('cluster_members')
    .set({ state: 'gone' })
    .where('state', 'in', ['suspect', 'joining'])
    .where('seen_at', '<', now - goneAfter)
    // Purges must name it as long as it may serve without a lease.
    .where((eb) => eb(eb('seen_at', '+', eb(eb('lease', '+', eb.ref('alone')), '*', 2)), '<', now))
    .execute()
}

/** The last purge that need not be kept: older than `keptSince` or more than `most`, and applied by all members. Null for none. */
async function findFloor(transaction: RecordsTransaction, keptSince: number, most: number): Promise<number | null> {
  const { slowest } = await transaction
    .selectFrom('cluster_members')
    .select((eb) => eb.fn.min('position').as('slowest'))
    .where('state', '!=', 'gone')
    .executeTakeFirstOrThrow()
  const { floor } = await transaction
    .selectFrom('cluster_purges')
    .select((eb) => eb.fn.max('number').as('floor'))
    .where((eb) =>
      eb.or([
        eb('at', '<', keptSince),
        eb(
          'number',
          '<=',
          eb.selectFrom('cluster_clock').select((clock) => clock('number', '-', most).as('kept')),
        ),
      ]),
    )
    .where('number', '<=', slowest ?? Number.MAX_SAFE_INTEGER)
    .executeTakeFirstOrThrow()
  return floor
}
