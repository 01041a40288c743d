import { setImmediate as nextTurn } from 'node:timers/promises'
import { canonicalUuid } from '../lib/uuid.ts'
import type { Records } from '../records/open.ts'
import { eventsAtOnce } from './prune.ts'
import { removedColumns, removeEvents } from './remove-events.ts'

export const erasureModes = ['remove', 'anonymize'] as const
export type ErasureMode = (typeof erasureModes)[number]

/**
 * Erases a customer from the events, in slices: the events go, and the sums with them, or they stay and name nobody. An event
 * that comes in meanwhile is erased too. The write-ahead log is emptied afterwards: it holds the rows as they were.
 *
 * @returns how many events named the customer; `logEmptied` is false where other connections kept the log in use
 */
export async function eraseCustomer(
  records: Records,
  customerId: string,
  mode: ErasureMode,
): Promise<{ events: number; logEmptied: boolean }> {
  const spellings = spellingsOf(customerId)
  let events = 0
  for (;;) {
    const slice = await eraseSlice(records, spellings, mode)
    events += slice
    if (slice < eventsAtOnce) break
    await nextTurn()
  }
  return { events, logEmptied: await records.truncateLog() }
}

/** Events name a customer by the one form of the id; those that are older do it as the shop wrote it, and cannot be changed. */
function spellingsOf(id: string): string[] {
  const uuid = canonicalUuid(id)
  if (uuid === null) return [id]
  const plain = uuid.replaceAll('-', '')
  return [...new Set([id, uuid, plain, uuid.toUpperCase(), plain.toUpperCase()])]
}

async function eraseSlice({ db }: Records, spellings: readonly string[], mode: ErasureMode): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    const events = await transaction
      .selectFrom('vendor_stage_event')
      .select(removedColumns)
      .where('customer_id', 'in', spellings)
      .limit(eventsAtOnce)
      .execute()
    if (mode === 'remove') await removeEvents(transaction, events)
    else if (events.length > 0) {
      const ids = events.map((event) => event.id)
      await transaction.updateTable('vendor_stage_event').set({ customer_id: null }).where('id', 'in', ids).execute()
    }
    return events.length
  })
}
