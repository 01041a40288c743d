import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import type { PaceRules } from './pace.ts'
import { Pacer } from './pacer.ts'
import type { Timing } from '../../lib/timing.ts'

/** What an origin was slowed down for so long ago says nothing about it any more (milliseconds). */
const remembered = 5 * 60_000

/** A pacer that goes on where the process that asked this origin before left off: its rate and its pauses hold over all of them. */
export async function openPacer(records: Records, origin: string, rules: PaceRules, timing: Timing): Promise<Pacer> {
  const row = await records.db.selectFrom('warmup_origins').selectAll().where('origin', '=', origin).executeTakeFirst()
  const now = records.now()
  if (!row || now - row.at > remembered) return new Pacer(rules, timing)
  // The clock of another boot may be far ahead: nothing waits longer than the rules say.
  const wait = Math.min(row.not_before - now, Math.max(rules.longestWait, 1000))
  return new Pacer(rules, timing, { limit: row.concurrency, notBefore: timing.now() + wait })
}

/** Leaves word for whoever asks the origin next. `now`: milliseconds since the epoch. */
export async function savePace(
  transaction: RecordsTransaction,
  origin: string,
  pacer: Pacer,
  timing: Timing,
  now: number,
): Promise<void> {
  const wait = Math.max(0, pacer.notBefore - timing.now())
  const row = { origin, not_before: Math.round(now + wait), concurrency: pacer.pace.limit, at: now }
  const { not_before, concurrency, at } = row
  await transaction
    .insertInto('warmup_origins')
    .values(row)
    .onConflict((conflict) => conflict.column('origin').doUpdateSet({ not_before, concurrency, at }))
    .execute()
}
