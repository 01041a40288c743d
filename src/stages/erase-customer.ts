import { setImmediate as nextTurn } from 'node:timers/promises'
import { canonicalUuid } from '../lib/uuid.ts'
import type { Records } from '../records/open.ts'
import { sliceSize } from './prune.ts'
import { removableColumns, removeEvents } from './remove-events.ts'

export const erasureModes = ['remove', 'anonymize'] as const
export type ErasureMode = (typeof erasureModes)[number]

/**
 * Erases a customer from the events, in slices: either removes the events and subtracts them from the sums, or keeps them without the
 * customer id. Events that arrive meanwhile are erased too. Afterwards the write-ahead log is truncated, because it still contains the
 * old rows.
 *
 * @returns how many events referred to the customer; `logEmptied` is false if other connections kept the log in use
 */
export async function eraseCustomer(
  records: Records,
  customerId: string,
  mode: ErasureMode,
): Promise<{ events: number; logEmptied: boolean }> {
  const spellings = customerIdSpellings(customerId)
  let events = 0
  for (;;) {
    const slice = await eraseSlice(records, spellings, mode)
    events += slice
    if (slice < sliceSize) break
    await nextTurn()
  }
  return { events, logEmptied: await records.truncateLog() }
}

/** All spellings of a customer id. Newer events have the canonical form, older ones the spelling that the shop sent. */
function customerIdSpellings(id: string): string[] {
  const uuid = canonicalUuid(id)
  if (uuid === null) return [id]
  const plain = uuid.replaceAll('-', '')
  return [...new Set([id, uuid, plain, uuid.toUpperCase(), plain.toUpperCase()])]
}

async function eraseSlice({ db }: Records, spellings: readonly string[], mode: ErasureMode): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    const events = await transaction
      .selectFrom('vendor_stage_event')
      .select(removableColumns)
      .where('customer_id', 'in', spellings)
      .limit(sliceSize)
      .execute()
    if (mode === 'remove') await removeEvents(transaction, events)
    else if (events.length > 0) {
      const ids = events.map((event) => event.id)
      await transaction.updateTable('vendor_stage_event').set({ customer_id: null }).where('id', 'in', ids).execute()
    }
    return events.length
  })
}
